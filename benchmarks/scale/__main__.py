"""Measure the driver's CPU time for one event with 4, 64 and 512 collectors, and print a table with the growth.

    python -m benchmarks.scale [--rounds 5] [--write FILE]

The first part measures the gather alone, as CPU time of this process. The benchmark plays the collectors, with one
message per turn, without Ray and without data. The second part measures the whole driver over Ray with up to 64 actors.
The actors answer at once and do not import torch. Each round measures all sizes, because a machine's speed varies.
"""

from __future__ import annotations

import argparse
import os
import time

from benchmarks.common import tables
from benchmarks.common.child import Failed, measure
from benchmarks.scale import played

SIZES = (4, 64, 512)
REAL = (4, 64)
# Enough events of each size for a stable figure within a minute.
EVENTS = 8000
REAL_SECONDS = 300.0

PLAYED = {
    "Sync, bound 0": lambda size: played.sync(size, 0, _batches(size), publishes=False),
    "Sync, bound 1": lambda size: played.sync(size, 1, _batches(size), publishes=False),
    "Sync, bound 0, an update after each batch": lambda size: played.sync(size, 0, _batches(size), publishes=True),
    "Sync, bound 1, an update after each batch": lambda size: played.sync(size, 1, _batches(size), publishes=True),
    "Async, unbounded": lambda size: played.asynchronous(size, None, EVENTS // 2, publishes=False),
    "Async, unbounded, an update after each batch": lambda size: played.asynchronous(
        size, None, EVENTS // 2, publishes=True
    ),
    "Async, bound 32, an update after each batch": lambda size: played.asynchronous(
        size, 32, EVENTS // 2, publishes=True
    ),
}
WHAT = {
    "share": "one answer with its request and its part of the batch (µs)",
    "acknowledgement": "one acknowledgement (µs)",
}

INTRODUCTION = """# What one event costs the driver

Cells are the CPU time of the driver for one event: median (min-max) over the rounds.

* An event is one acknowledgement of weights, or one answer (rollout) with the next request and its part of a batch.
* *Played* measures only the gather loop, with one message per iteration. *Over Ray* measures the whole driver process
  with actors that answer immediately.
* *Growth* is the largest fleet's figure divided by the smallest fleet's figure in the same round.

    python -m benchmarks.scale --write docs/scale.md
"""


def _batches(collectors: int) -> int:
    return max(4, EVENTS // collectors)


def played_rows(rounds: int) -> list[list[str]]:
    """Measure the gather alone and return a row per case and event."""
    found: dict[tuple[str, str], dict[int, list[float]]] = {}
    for number in range(rounds):
        for case, run in PLAYED.items():
            for size in SIZES if number % 2 == 0 else reversed(SIZES):
                for key, value in run(size).items():
                    found.setdefault((case, key), {size: [] for size in SIZES})[size].append(value)
        print(f"round {number + 1} of {rounds} done, load average {os.getloadavg()[0]:.1f}", flush=True)
    return [row(f"played, {case}, {WHAT[key]}", sizes) for (case, key), sizes in found.items()]


def real_rows(rounds: int) -> list[list[str]]:
    """Measure fleets over Ray and return a row per mode and number. Print and leave out a fleet that fails or hangs."""
    found: dict[tuple[str, str], dict[int, list[float]]] = {}
    for number in range(rounds):
        for mode in ("Sync", "Async"):
            for size in REAL if number % 2 == 0 else reversed(REAL):
                measured = measure("benchmarks.scale.real", {"mode": mode, "size": size}, timeout=REAL_SECONDS)
                print(f"round {number + 1}: over Ray, {mode}, {size} actors: {measured}", flush=True)
                if isinstance(measured, Failed):
                    continue
                for key, value in measured.items():
                    found.setdefault((f"over Ray, {mode}", key), {size: [] for size in SIZES})[size].append(value)
    return [row(f"{case}, {key}", sizes) for (case, key), sizes in found.items()]


def row(what: str, sizes: dict[int, list[float]]) -> list[str]:
    """Return the values by size, and the growth from the smallest to the largest measured size."""
    measured = [values for values in sizes.values() if values]
    growth = [last / first for first, last in zip(measured[0], measured[-1], strict=False) if first]
    return [what, *(tables.spread(sizes[size]) for size in SIZES), tables.spread(growth, "x")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--real-rounds", type=int, default=3, help="rounds over Ray; 0 leaves them out")
    parser.add_argument("--write", metavar="FILE", help="write the table there too")
    args = parser.parse_args()
    started = time.monotonic()
    rows = played_rows(args.rounds) + real_rows(args.real_rounds)
    table = tables.table([f"{args.rounds} rounds", *(f"{size} collectors" for size in SIZES), "growth"], rows)
    text = f"{table}\n\n{tables.machine()}; {(time.monotonic() - started) / 60:.0f} minutes."
    print(f"\n{text}")
    if args.write:
        tables.write(args.write, f"{INTRODUCTION}\n{text}")


if __name__ == "__main__":
    main()
