"""Compare policies in learner shards with one policy that the driver trains, and print a table.

    python -m benchmarks.learners [--rounds 5] [--only small,pixels] [--policies 1,2,4] [--batches 40] [--write FILE]

The sides alternate within a round, and the order flips from round to round. Each measurement is a child process with
its own Ray.
"""

from __future__ import annotations

import argparse
import os

from benchmarks.common import tables
from benchmarks.common.child import Failed, measure

CHILD_SECONDS = 280.0
FRAMES = {"small": 800, "pixels": 400}
WHAT = {"small": "4 floats", "pixels": "4 x 84 x 84 bytes"}
IN_DRIVER = 0  # the number of policies in shards for the side without shards
UNITS = {"frames/s": "frames/s", "driver us": "CPU of the driver per frame (µs)"}
Found = dict[str, float] | Failed
INTRODUCTION = """# Learner shards beside the driver

Two collectors of 8 environments collect asynchronously. The steps cost almost no CPU. For each batch, the learner
samples 256 frames, learns from them and publishes the result.

* *In the driver*: one policy learns from a buffer in the driver's memory.
* *In shards*: each policy learns from its own replay actor. Each policy gets a part of the frames and of the samples.

Cells are median (min-max) over the rounds. A ratio compares two values of one round.

    python -m benchmarks.learners --rounds {rounds} --write docs/learner-shards.md
"""


def run_round(size: str, sides: list[int], number: int, batches: int) -> dict[int, Found]:
    """Measure each side once. A side is a number of policies in shards."""
    found: dict[int, Found] = {}
    for policies in sides if number % 2 == 0 else reversed(sides):
        case = {"policies": policies, "pixels": size == "pixels", "frames": FRAMES[size], "batches": batches}
        found[policies] = measure("benchmarks.learners.measures", case, timeout=CHILD_SECONDS)
        print(f"round {number + 1}: {size}: {_side(policies)}: {found[policies]}", flush=True)
    return found


def rows(size: str, rounds: list[dict[int, Found]], policies: int) -> list[list[str]]:
    """Return a row per unit: the value in the driver, the value in shards, and the ratio."""
    pairs = [
        (theirs, ours)
        for one in rounds
        for theirs, ours in [(one[IN_DRIVER], one[policies])]
        if not isinstance(theirs, Failed) and not isinstance(ours, Failed)
    ]
    return [
        [
            f"{WHAT[size]}, {_side(policies)}, {unit}",
            tables.spread([theirs[key] for theirs, _ in pairs]),
            tables.spread([ours[key] for _, ours in pairs]),
            tables.spread([ours[key] / theirs[key] for theirs, ours in pairs], "x"),
            f"{len(pairs)} of {len(rounds)}",
        ]
        for key, unit in UNITS.items()
    ]


def _side(policies: int) -> str:
    return "in the driver" if policies == IN_DRIVER else f"{policies} in shards"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default=",".join(FRAMES), help="comma-separated sizes of frames")
    parser.add_argument("--policies", default="1,2,4", help="how many there are in shards")
    parser.add_argument("--batches", type=int, default=40)
    parser.add_argument("--write", metavar="FILE", help="write the table there too")
    args = parser.parse_args()
    sizes, numbers = args.only.split(","), [int(number) for number in args.policies.split(",")]
    found: dict[str, list[dict[int, Found]]] = {size: [] for size in sizes}
    for number in range(args.rounds):
        for size in sizes:
            found[size].append(run_round(size, [IN_DRIVER, *numbers], number, args.batches))
        print(f"round {number + 1} of {args.rounds} done, load average {os.getloadavg()[0]:.1f}", flush=True)
    table = tables.table(
        ["frames", "in the driver", "in shards", "ratio", "rounds"],
        [row for size in sizes for number in numbers for row in rows(size, found[size], number)],
    )
    text = f"{table}\n\n{tables.machine()}."
    print(f"\n{text}")
    if args.write:
        tables.write(args.write, f"{INTRODUCTION.format(rounds=args.rounds)}\n{text}")


if __name__ == "__main__":
    main()
