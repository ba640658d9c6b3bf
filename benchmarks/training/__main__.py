"""Trains HalfCheetah with PPO, once for each run and seed, one after the other, and compares reward against the clock.

    python -m benchmarks.training [--minutes 5] [--seeds 3] [--async] [--write docs/training]

Same code, hyper-parameters, seeds and log-probabilities (those that the collectors acted with) in all runs. In Sync
both sides are on-policy, and FleetCollector has a second run that is one batch ahead, which RayCollector cannot be. In
Async RayCollector's staleness has no bound, and so FleetCollector's has none. ``--write`` makes FILE.csv, FILE.png and
FILE.md.
"""

from __future__ import annotations

import argparse
import csv
import statistics
from pathlib import Path

from benchmarks.common import tables
from benchmarks.common.child import Failed, measure
from benchmarks.raycollector.sides import FLEET, RAY
from benchmarks.training.ppo import Settings

# By what the figure calls them: whose collector it is, and the staleness of its batches; None is without a bound.
Runs = dict[str, tuple[str, int | None]]
IN_SYNC: Runs = {RAY: (RAY, 0), FLEET: (FLEET, 0), f"{FLEET}, one batch ahead": (FLEET, 1)}
IN_ASYNC: Runs = {RAY: (RAY, None), FLEET: (FLEET, None)}
COLOURS = ("tab:gray", "tab:blue", "tab:orange")

# Episodes take 1000 steps and all environments begin together, so they end together too.
Curve = list[tuple[float, int, float]]


def train(name: str, runs: Runs, seed: int, minutes: float) -> Curve | Failed:
    """(seconds, frames, mean reward of the episodes that ended) whenever episodes ended."""
    side, staleness = runs[name]
    case = {"side": side, "seed": seed, "minutes": minutes, "sync": runs is IN_SYNC, "staleness": staleness}
    found = measure("benchmarks.training.one", case, timeout=minutes * 60 + 240)
    if isinstance(found, Failed):
        print(f"{name}, seed {seed}: {found.why}", flush=True)
        return found
    curve = [(at, frames, statistics.mean(rewards)) for at, frames, rewards in found["points"] if rewards]
    seconds, frames, _ = found["points"][-1]
    last = f"{curve[-1][2]:.0f}" if curve else "none yet"
    print(f"{name}, seed {seed}: {frames:,} frames in {seconds:.0f} s, last reward {last}", flush=True)
    return curve


def reward_at(curve: Curve, seconds: float) -> float | None:
    """Of the newest episodes that had ended by then."""
    return next((reward for at, _, reward in reversed(curve) if at <= seconds), None)


def seconds_to(curve: Curve, goal: float) -> float | None:
    return next((at for at, _, reward in curve if reward >= goal), None)


def report(curves: dict[str, list[Curve]], minutes: float) -> str:
    """A goal that all reached in every run shows how much sooner; rewards at fixed times show how much more.

    Ratios are of runs of the same seed, to RayCollector's.
    """
    others = [name for name in curves if name != RAY]
    rows = []
    for share in (0.25, 0.5, 0.75, 1.0):
        at = {name: [reward_at(curve, minutes * 60 * share) for curve in curves[name]] for name in curves}
        rows.append(_row(f"reward after {minutes * share:.3g} minutes", at, others))
    best = min(
        (max(reward for *_, reward in curve) for runs in curves.values() for curve in runs if curve), default=0.0
    )
    for goal in [round(best * share, -2) for share in (0.5, 0.9)]:
        to = {name: [seconds_to(curve, goal) for curve in curves[name]] for name in curves}
        rows.append(_row(f"seconds to a reward of {goal:.0f}", to, others))
    rates = {name: [curve[-1][1] / curve[-1][0] if curve else None for curve in curves[name]] for name in curves}
    rows.append(_row("frames/s, learning included", rates, others))
    return tables.table(["", RAY, *(part for name in others for part in (name, "ratio"))], rows)


def _row(what: str, values: dict[str, list[float | None]], others: list[str]) -> list[str]:
    cells = [what, _spread(values[RAY])]
    for name in others:
        pairs = zip(values[RAY], values[name], strict=True)
        cells += [_spread(values[name]), tables.spread([b / a for a, b in pairs if a and b is not None], "x")]
    return cells


def _spread(values: list[float | None]) -> str:
    return tables.spread([value for value in values if value is not None])


def write_csv(path: Path, curves: dict[str, list[Curve]]) -> None:
    with path.open("w", newline="") as out:
        lines = csv.writer(out, lineterminator="\n")
        lines.writerow(["run", "seed", "seconds", "frames", "reward"])
        for name, runs in curves.items():
            for seed, curve in enumerate(runs):
                lines.writerows([name, seed, f"{at:.1f}", frames, f"{reward:.1f}"] for at, frames, reward in curve)


def plot(path: Path, curves: dict[str, list[Curve]], title: str) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for (name, runs), colour in zip(curves.items(), COLOURS, strict=False):
        for number, curve in enumerate(runs):
            label = name if number == 0 else None
            axes.plot([at / 60 for at, *_ in curve], [reward for *_, reward in curve], color=colour, label=label)
    axes.set(xlabel="minutes", ylabel="reward of an episode", title=title)
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120, metadata={"Software": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0, help="of each run and seed")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--async", dest="asynchronous", action="store_true", help="Async instead of Sync")
    parser.add_argument("--write", metavar="FILE", help="without an ending, such as docs/training")
    args = parser.parse_args()
    runs = IN_ASYNC if args.asynchronous else IN_SYNC
    curves: dict[str, list[Curve]] = {name: [] for name in runs}
    for seed in range(args.seeds):
        # In another order each time, because machines are noisy.
        order = [*runs][seed % len(runs) :] + [*runs][: seed % len(runs)]
        for name in order:
            curve = train(name, runs, seed, args.minutes)
            if isinstance(curve, Failed):
                raise SystemExit(f"{name}, seed {seed}: {curve.why}")
            curves[name].append(curve)
    settings = Settings()
    mode = "Async" if args.asynchronous else "Sync"
    what = f"PPO on HalfCheetah-v5, {mode}, {settings.collectors} collectors of {settings.envs} environments"
    text = f"{report(curves, args.minutes)}\n\n{what}, {args.seeds} seeds. {tables.machine()}."
    print(f"\n{text}")
    if args.write:
        base = Path(args.write)
        write_csv(base.with_suffix(".csv"), curves)
        plot(base.with_suffix(".png"), curves, f"PPO on HalfCheetah-v5, {mode}")
        command = f"    python -m benchmarks.training --minutes {args.minutes:g} --seeds {args.seeds} --write {base}"
        introduction = (
            "# Reward against the clock\n\nThe same training code, hyper-parameters and seeds, one run after the "
            "other; the only difference is the collector. PPO uses the log-probabilities that the collectors acted "
            "with. In Sync both sides are on-policy; *one batch ahead* collects the next batch, with weights that are "
            "one version older, while the learner works. Cells are median (min-max) over the seeds, ratios those of "
            f"the same seed.\n\n{command}{' --async' if args.asynchronous else ''}"
        )
        picture = f"![Reward over minutes]({base.with_suffix('.png').name})"
        tables.write(str(base.with_suffix(".md")), f"{introduction}\n\n{picture}\n\n{text}")


if __name__ == "__main__":
    main()
