"""Train HalfCheetah with PPO on RayCollector and FleetCollector, and compare the rewards over time.

    python -m benchmarks.training [--minutes 5] [--seeds 3] [--goal 3300] [--async] [--write docs/training]

The trainings run one after the other, with the same code, hyperparameters and seeds. PPO uses the log-probabilities
that the collectors acted with. In Sync both sides are on-policy. FleetCollector has a second run that looks one batch
ahead, which RayCollector cannot do. In Async neither side bounds the staleness.

``--goal`` reports when each run reached a reward. Without ``--goal``, the goals are 0.5 and 0.9 times the lowest of the
runs' best rewards. ``--write`` makes FILE.csv, FILE.png and FILE.md.
"""

from __future__ import annotations

import argparse
import csv
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.common import tables
from benchmarks.common.child import Failed, measure
from benchmarks.raycollector.sides import FLEET, RAY
from benchmarks.training.ppo import Settings

# The side and the largest staleness in versions of each run, by the run's name in the figure. None means no bound.
Kinds = dict[str, tuple[str, int | None]]
IN_SYNC: Kinds = {RAY: (RAY, 0), FLEET: (FLEET, 0), f"{FLEET}, one batch ahead": (FLEET, 1)}
IN_ASYNC: Kinds = {RAY: (RAY, None), FLEET: (FLEET, None)}
COLOURS = ("tab:gray", "tab:blue", "tab:orange")

# (seconds, frames, mean reward of the ended episodes) of each batch in which episodes ended. All episodes begin
# together and have 1000 steps, so they also end together.
Points = list[tuple[float, int, float]]


@dataclass(frozen=True)
class Run:
    """The result of one training run. ``waiting`` is the share of its time in which the learner waited for a batch."""

    points: Points
    frames_per_second: float
    waiting: float


def train(name: str, kinds: Kinds, seed: int, minutes: float) -> Run | Failed:
    """Train in a child process and print the result. Blocks for at most ``minutes`` and four more minutes."""
    side, staleness = kinds[name]
    case = {"side": side, "seed": seed, "minutes": minutes, "sync": kinds is IN_SYNC, "staleness": staleness}
    found = measure("benchmarks.training.one", case, timeout=minutes * 60 + 240)
    if isinstance(found, Failed):
        print(f"{name}, seed {seed}: {found.why}", flush=True)
        return found
    points = [(at, frames, statistics.mean(rewards)) for at, frames, rewards in found["points"] if rewards]
    seconds, frames, _ = found["points"][-1]
    run = Run(points, frames / seconds, found["waited"] / seconds)
    last = f"{points[-1][2]:.0f}" if points else "none yet"
    print(
        f"{name}, seed {seed}: {frames:,} frames in {seconds:.0f} s, {run.waiting:.0%} of them waiting for frames, "
        f"last reward {last}",
        flush=True,
    )
    return run


def reward_at(run: Run, seconds: float) -> float | None:
    """Return the reward of the newest episodes that ended within ``seconds``; None if no episode had ended."""
    return next((reward for at, _, reward in reversed(run.points) if at <= seconds), None)


def seconds_to(run: Run, goal: float) -> float | None:
    """Return the seconds until episodes had the reward ``goal``; None if the run did not reach it."""
    return next((at for at, _, reward in run.points if reward >= goal), None)


def report(runs: dict[str, list[Run]], minutes: float, goals: list[float]) -> str:
    """Return the table that compares ``runs``, which has one run per seed by name.

    Rewards at fixed times show how much more a run learned, and times to ``goals`` how much sooner. Ratios compare runs
    of the same seed with RayCollector's.
    """
    others = [name for name in runs if name != RAY]

    def row(what: str, of: Callable[[Run], float | None]) -> list[str]:
        return _row(what, {name: [of(run) for run in runs[name]] for name in runs}, others)

    rows = [
        row(f"reward after {minutes * share:.3g} minutes", partial(reward_at, seconds=minutes * 60 * share))
        for share in (0.25, 0.5, 0.75, 1.0)
    ]
    best = min(max((reward for *_, reward in run.points), default=0.0) for of in runs.values() for run in of)
    rows += [
        row(f"seconds to a reward of {goal:,.0f}", partial(seconds_to, goal=goal))
        for goal in goals or [round(best * share, -2) for share in (0.5, 0.9)]
    ]
    rows += [
        row("frames/s, learning included", lambda run: run.frames_per_second),
        row("part of the time without frames to learn from", lambda run: run.waiting),
        row("milliseconds waited for 1,000 frames", lambda run: run.waiting / run.frames_per_second * 1e6),
    ]
    return tables.table(["", RAY, *(part for name in others for part in (name, "ratio"))], rows)


def _row(what: str, values: dict[str, list[float | None]], others: list[str]) -> list[str]:
    cells = [what, _spread(values[RAY])]
    for name in others:
        pairs = zip(values[RAY], values[name], strict=True)
        cells += [_spread(values[name]), tables.spread([b / a for a, b in pairs if a and b is not None], "x")]
    return cells


def _spread(values: list[float | None]) -> str:
    return tables.spread([value for value in values if value is not None])


def write_csv(path: Path, by_name: dict[str, list[Run]]) -> None:
    with path.open("w", newline="") as out:
        lines = csv.writer(out, lineterminator="\n")
        lines.writerow(["run", "seed", "seconds", "frames", "reward"])
        for name, runs in by_name.items():
            for seed, run in enumerate(runs):
                points = run.points
                lines.writerows([name, seed, f"{at:.1f}", frames, f"{reward:.1f}"] for at, frames, reward in points)


def plot(path: Path, by_name: dict[str, list[Run]], title: str) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for (name, runs), colour in zip(by_name.items(), COLOURS, strict=False):
        for number, run in enumerate(runs):
            label = name if number == 0 else None
            times, rewards = [at / 60 for at, *_ in run.points], [reward for *_, reward in run.points]
            axes.plot(times, rewards, color=colour, label=label)
    axes.set(xlabel="minutes", ylabel="reward of an episode", title=title)
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120, metadata={"Software": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0, help="of each run and seed")
    parser.add_argument("--goal", type=float, action="append", default=[], help="a reward; may be said several times")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--async", dest="asynchronous", action="store_true", help="Async instead of Sync")
    parser.add_argument("--write", metavar="FILE", help="without an ending, such as docs/training")
    args = parser.parse_args()
    kinds = IN_ASYNC if args.asynchronous else IN_SYNC
    runs: dict[str, list[Run]] = {name: [] for name in kinds}
    for seed in range(args.seeds):
        # The order changes with each seed, so that changes of the machine's speed affect all runs alike.
        order = [*kinds][seed % len(kinds) :] + [*kinds][: seed % len(kinds)]
        for name in order:
            run = train(name, kinds, seed, args.minutes)
            if isinstance(run, Failed):
                raise SystemExit(f"{name}, seed {seed}: {run.why}")
            runs[name].append(run)
    settings = Settings()
    mode = "Async" if args.asynchronous else "Sync"
    what = f"PPO on HalfCheetah-v5, {mode}, {settings.collectors} collectors of {settings.envs} environments"
    text = f"{report(runs, args.minutes, args.goal)}\n\n{what}, {args.seeds} seeds. {tables.machine()}."
    print(f"\n{text}")
    if args.write:
        base = Path(args.write)
        write_csv(base.with_suffix(".csv"), runs)
        plot(base.with_suffix(".png"), runs, f"PPO on HalfCheetah-v5, {mode}")
        goals = "".join(f" --goal {goal:g}" for goal in args.goal)
        command = (
            f"    python -m benchmarks.training --minutes {args.minutes:g} --seeds {args.seeds}{goals} --write {base}"
        )
        introduction = (
            "# Reward against the clock\n\n"
            "Only the collector differs between the runs. In Sync both sides are on-policy. *One batch "
            "ahead* collects the next batch\n"
            "while the learner works, with weights that are one version older. The learner shares the "
            "cores with collectors that work\n"
            "at the same time. The clock begins with the first batch.\n"
            "\n"
            "Cells are median (min-max) over the seeds. A ratio compares two runs with the same seed."
            f"\n\n{command}{' --async' if args.asynchronous else ''}"
        )
        picture = f"![Reward over minutes]({base.with_suffix('.png').name})"
        tables.write(str(base.with_suffix(".md")), f"{introduction}\n\n{picture}\n\n{text}")


if __name__ == "__main__":
    main()
