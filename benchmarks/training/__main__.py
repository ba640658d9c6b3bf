"""Trains HalfCheetah with PPO, once for each side and seed, one after the other, and compares reward against the clock.

    python -m benchmarks.training [--minutes 5] [--seeds 1] [--async] [--write docs/training]

Same code, hyper-parameters and seeds on both sides. ``--write`` makes FILE.csv, FILE.png and FILE.md.
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

# Episodes take 1000 steps and all environments begin together, so they end together too.
Curve = list[tuple[float, int, float]]


def train(side: str, seed: int, minutes: float, sync: bool) -> Curve | Failed:
    """(seconds, frames, mean reward of the episodes that ended) whenever episodes ended."""
    case = {"side": side, "seed": seed, "minutes": minutes, "sync": sync}
    found = measure("benchmarks.training.one", case, timeout=minutes * 60 + 240)
    if isinstance(found, Failed):
        print(f"{side}, seed {seed}: {found.why}", flush=True)
        return found
    curve = [(at, frames, statistics.mean(rewards)) for at, frames, rewards in found["points"] if rewards]
    seconds, frames, _ = found["points"][-1]
    last = f"{curve[-1][2]:.0f}" if curve else "none yet"
    print(f"{side}, seed {seed}: {frames:,} frames in {seconds:.0f} s, last reward {last}", flush=True)
    return curve


def reward_at(curve: Curve, seconds: float) -> float | None:
    """Of the newest episodes that had ended by then."""
    return next((reward for at, _, reward in reversed(curve) if at <= seconds), None)


def seconds_to(curve: Curve, goal: float) -> float | None:
    return next((at for at, _, reward in curve if reward >= goal), None)


def report(curves: dict[str, list[Curve]], minutes: float) -> str:
    """A goal that both reached in every run shows how much sooner; rewards at fixed times show how much more."""
    rows = []
    for share in (0.25, 0.5, 0.75, 1.0):
        cells = [[reward_at(c, minutes * 60 * share) for c in curves[side]] for side in (RAY, FLEET)]
        known = [[value for value in cell if value is not None] for cell in cells]
        rows.append([f"reward after {minutes * share:.3g} minutes", *(tables.spread(cell) for cell in known), ""])
    best = min((max(reward for *_, reward in curve) for side in curves for curve in curves[side] if curve), default=0.0)
    for goal in [round(best * share, -2) for share in (0.5, 0.9)]:
        pairs = zip(curves[RAY], curves[FLEET], strict=True)
        times = [(a, b) for r, f in pairs if (a := seconds_to(r, goal)) and (b := seconds_to(f, goal))]
        cells = [tables.spread([pair[i] for pair in times]) for i in (0, 1)]
        rows.append([f"seconds to a reward of {goal:.0f}", *cells, tables.spread([b / a for a, b in times], "x")])
    rates = [[curve[-1][1] / curve[-1][0] for curve in curves[side] if curve] for side in (RAY, FLEET)]
    ratio = [b / a for a, b in zip(*rates, strict=False)]
    rows.append(["frames/s, learning included", *(tables.spread(r) for r in rates), tables.spread(ratio, "x")])
    return tables.table(["", RAY, FLEET, "ratio"], rows)


def write_csv(path: Path, curves: dict[str, list[Curve]]) -> None:
    with path.open("w", newline="") as out:
        lines = csv.writer(out, lineterminator="\n")
        lines.writerow(["side", "seed", "seconds", "frames", "reward"])
        for side, runs in curves.items():
            for seed, curve in enumerate(runs):
                lines.writerows([side, seed, f"{at:.1f}", frames, f"{reward:.1f}"] for at, frames, reward in curve)


def plot(path: Path, curves: dict[str, list[Curve]], title: str) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for (side, runs), colour in zip(curves.items(), ("tab:gray", "tab:blue"), strict=True):
        for number, curve in enumerate(runs):
            label = side if number == 0 else None
            axes.plot([at / 60 for at, *_ in curve], [reward for *_, reward in curve], color=colour, label=label)
    axes.set(xlabel="minutes", ylabel="reward of an episode", title=title)
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120, metadata={"Software": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0, help="of each side and seed")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--async", dest="asynchronous", action="store_true", help="Async instead of Sync")
    parser.add_argument("--write", metavar="FILE", help="without an ending, such as docs/training")
    args = parser.parse_args()
    curves: dict[str, list[Curve]] = {RAY: [], FLEET: []}
    for seed in range(args.seeds):
        found = {}
        for side in (RAY, FLEET) if seed % 2 == 0 else (FLEET, RAY):
            found[side] = train(side, seed, args.minutes, not args.asynchronous)
        for side, curve in found.items():
            if isinstance(curve, Failed):
                raise SystemExit(f"{side}, seed {seed}: {curve.why}")
            curves[side].append(curve)
    settings = Settings()
    mode = "Async" if args.asynchronous else "Sync, FleetCollector one batch ahead"
    what = f"PPO on HalfCheetah-v5, {mode}, {settings.collectors} collectors of {settings.envs} environments"
    text = f"{report(curves, args.minutes)}\n\n{what}, {args.seeds} seeds. {tables.machine()}."
    print(f"\n{text}")
    if args.write:
        base = Path(args.write)
        write_csv(base.with_suffix(".csv"), curves)
        plot(base.with_suffix(".png"), curves, f"PPO on HalfCheetah-v5, {mode.split(',')[0]}")
        command = f"    python -m benchmarks.training --minutes {args.minutes:g} --seeds {args.seeds} --write {base}"
        introduction = (
            "# Reward against the clock\n\nThe same training code, hyper-parameters and seeds, one side after the "
            f"other; the only difference is the collector.\n\n{command}{' --async' if args.asynchronous else ''}"
        )
        picture = f"![Reward over minutes]({base.with_suffix('.png').name})"
        tables.write(str(base.with_suffix(".md")), f"{introduction}\n\n{picture}\n\n{text}")


if __name__ == "__main__":
    main()
