"""Prints one table: our loop beside TorchRL's, and beside environment and policy alone.

    python -m benchmarks.rollout [--rounds 5] [--only CartPole,Pendulum,...] [--together 1,8,64] [--write FILE]

Sides take turns within a round and the order flips from round to round; each measurement is a process of its own.
"""

from __future__ import annotations

import argparse
import os

from benchmarks.common import tables
from benchmarks.common.child import Failed, measure
from benchmarks.rollout.measures import BARE, OURS, TORCHRL
from benchmarks.rollout.workloads import WORKLOADS

CHILD_SECONDS = 240.0
SIDES = (OURS, TORCHRL, BARE)
Found = dict[str, float] | Failed
INTRODUCTION = """# What a step costs

One collector in one process, with one thread of torch and an MLP of 64 by 64, steps environments together. *TorchRL* is
TorchRL's `Collector` alone; *bare* calls environment and policy and keeps nothing, which is the limit. Cells are median
(min-max) over the rounds, of the best batch of each measurement; ratios are of the same round. `over bare` is what a
step costs beyond environment and policy, in µs of CPU for all environments of the collector.

    python -m benchmarks.rollout --write docs/rollout.md
"""


def run_round(workload: str, together: int, number: int) -> dict[str, Found]:
    """Every side once."""
    found: dict[str, Found] = {}
    for side in SIDES if number % 2 == 0 else reversed(SIDES):
        case = {"side": side, "workload": workload, "together": together, "steps": max(25, 1600 // together)}
        found[side] = measure("benchmarks.rollout.measures", {**case, "batches": 6}, timeout=CHILD_SECONDS)
        print(f"round {number + 1}: {workload}, {together}: {side}: {found[side]}", flush=True)
    return found


def row(what: str, rounds: list[dict[str, Found]]) -> list[str]:
    whole = [one for one in rounds if not any(isinstance(found, Failed) for found in one.values())]

    def of(side: str, key: str) -> list[float]:
        return [found[key] for one in whole if not isinstance(found := one[side], Failed)]

    frames = {side: of(side, "frames/s") for side in SIDES}
    cpu = {side: of(side, "CPU us/step") for side in SIDES}
    return [
        what,
        *(tables.spread(frames[side]) for side in SIDES),
        tables.spread([a / b for a, b in zip(frames[OURS], frames[TORCHRL], strict=True)], "x"),
        tables.spread([a / b for a, b in zip(frames[OURS], frames[BARE], strict=True)], "x"),
        tables.spread([a - b for a, b in zip(cpu[OURS], cpu[BARE], strict=True)]),
        f"{len(whole)} of {len(rounds)}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default=",".join(WORKLOADS), help="comma-separated environments")
    parser.add_argument("--together", default="1,8,64", help="how many environments step together")
    parser.add_argument("--write", metavar="FILE", help="write the table there too")
    args = parser.parse_args()
    cases = [(workload, int(count)) for workload in args.only.split(",") for count in args.together.split(",")]
    found: dict[tuple[str, int], list[dict[str, Found]]] = {case: [] for case in cases}
    for number in range(args.rounds):
        for workload, together in cases:
            found[workload, together].append(run_round(workload, together, number))
        print(f"round {number + 1} of {args.rounds} done, load average {os.getloadavg()[0]:.1f}", flush=True)
    columns = [f"{side}, frames/s" for side in SIDES]
    table = tables.table(
        ["environments", *columns, "ours / TorchRL", "ours / bare", "over bare, µs", "rounds"],
        [row(f"{together} of {workload}", rounds) for (workload, together), rounds in found.items()],
    )
    text = f"{table}\n\n{tables.machine('torch', 'torchrl', 'tensordict', 'gymnasium')}."
    print(f"\n{text}")
    if args.write:
        tables.write(args.write, f"{INTRODUCTION}\n{text}")


if __name__ == "__main__":
    main()
