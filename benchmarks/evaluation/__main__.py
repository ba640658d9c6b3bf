"""Compare the frames per second of a training with and without an evaluation beside it.

    python -m benchmarks.evaluation [--rounds 10] [--batches 42] [--write docs/evaluation-cost.md]

Sides take turns, and the order flips from round to round. All processes share the cores of this machine.
"""

from __future__ import annotations

import argparse
from typing import Final

from benchmarks.common import tables
from benchmarks.common.child import Failed, measure
from benchmarks.evaluation.one import COLLECTORS, ENVIRONMENTS, EPISODES, EVERY_VERSIONS, FRAMES, MAKE

WITHOUT: Final = "without"
WITH: Final = "with evaluation"
Found = dict[str, float] | Failed


def one(environment: str, side: str, batches: int) -> Found:
    """Measure one side in a child process and print the result. Blocks for at most 300 s."""
    case = {"environment": environment, "evaluates": side == WITH, "batches": batches}
    found = measure("benchmarks.evaluation.one", case, timeout=300)
    said = found.why if isinstance(found, Failed) else ", ".join(f"{k} {tables.number(v)}" for k, v in found.items())
    print(f"{environment}, {side}: {said}", flush=True)
    return found


def row(environment: str, rounds: list[dict[str, Found]]) -> list[str]:
    """Return the table's row of one environment. Rounds with a failed side are left out, and their errors added."""
    pairs = [
        (before, after)
        for found in rounds
        for before, after in [(found[WITHOUT], found[WITH])]
        if isinstance(before, dict) and isinstance(after, dict)
    ]
    failed = sorted({f.why for found in rounds for f in found.values() if isinstance(f, Failed)})
    fps = [[pair[index]["frames/s"] for pair in pairs] for index in (0, 1)]
    ratios = [after / before for before, after in zip(*fps, strict=True)]
    seconds = [after["s of an evaluation"] for _, after in pairs]
    cells = [tables.spread(fps[0]), tables.spread(fps[1]), "; ".join([tables.spread(ratios, "x"), *failed])]
    return [environment, *cells, tables.spread(seconds)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--batches", type=int, default=42)
    parser.add_argument("--write", metavar="FILE")
    args = parser.parse_args()
    table = []
    for environment in MAKE:
        rounds: list[dict[str, Found]] = []
        for number in range(args.rounds):
            order = (WITHOUT, WITH) if number % 2 == 0 else (WITH, WITHOUT)
            rounds.append({side: one(environment, side, args.batches) for side in order})
        table.append(row(environment, rounds))
    head = [
        f"{args.rounds} paired rounds of {args.batches} batches",
        "frames/s without",
        "frames/s with evaluation",
        "ratio",
        "seconds of an evaluation",
    ]
    text = f"{tables.table(head, table)}\n\n{tables.machine()}."
    print(f"\n{text}")
    if args.write:
        command = (
            f"    python -m benchmarks.evaluation --rounds {args.rounds} --batches {args.batches} --write {args.write}"
        )
        introduction = (
            "# What evaluation costs\n\n"
            f"The benchmark trains `examples/evaluation.yaml` by PPO, with {COLLECTORS} collectors of {ENVIRONMENTS} "
            f"environments and batches of {FRAMES} frames.\n"
            "Collectors, driver and evaluator share the cores of one machine. The evaluator has the lowest priority.\n"
            f"The evaluator runs {EPISODES} episodes with every {EVERY_VERSIONS}th version. In the environment that "
            f"sleeps, each step takes 4 ms.\n\n{command}"
        )
        tables.write(args.write, f"{introduction}\n\n{text}")


if __name__ == "__main__":
    main()
