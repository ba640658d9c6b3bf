"""Measure the cost of each fault with FleetCollector and with RayCollector, and print a table.

    python -m benchmarks.faults [--rounds 3] [--only kill,stop,node,memory,step,policy,driver,slow] [--write FILE]

Every run is a process with its own Ray: four collectors, Sync, 80 frames per batch, rollouts of 0.2 s. The weights are
numbered and determine the rewards, so each frame proves which weights made it. The benchmark disturbs one collector in
the middle of the 16th rollout.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.common import tables
from benchmarks.common.child import Failed, measure
from benchmarks.faults import driver_killed, memory_limit
from benchmarks.faults.disturbed import HANG_SECONDS, REQUEST_TIMEOUT_SECONDS, RESTARTING
from benchmarks.faults.rounds import Cell, merged
from benchmarks.raycollector.sides import FLEET, RAY

CHILD_SECONDS = 200.0


@dataclass(frozen=True)
class Fault:
    """A fault. ``what`` is its text in the table, ``fault`` its name in a case, ``batches`` the length of the run."""

    what: str
    fault: str
    batches: int = 100
    sides: tuple[str, ...] = (FLEET, RAY)


PROCESS_SIDES = (FLEET, RAY, RESTARTING)
FAULTS = {
    "kill": Fault("a collector is killed (`kill -9`)", "kill", sides=PROCESS_SIDES),
    "stop": Fault("a collector hangs (SIGSTOP)", "stop"),
    "node": Fault("a node with 2 of 4 collectors is lost, another comes", "node", 300),
    "memory": Fault("a collector runs out of memory (limit of its cgroup)", "memory"),
    "step": Fault("the environment raises in `step`", "raise in step"),
    "policy": Fault("the policy raises", "raise in policy"),
}
HEADER = [
    "fault",
    "side",
    "outcome",
    "batches delivered",
    "frames counted / delivered",
    "stale frames",
    "longest pause (s)",
    "noticed (s)",
    "full strength (s)",
    "what the status said",
]
INTRODUCTION = f"""# What a fault costs

This page compares what one fault costs FleetCollector and RayCollector. Each run has four collectors, mode Sync, 80
frames per batch and rollouts of 0.2 s. The benchmark disturbs one collector in the 16th rollout. FleetCollector may
collect one batch ahead (`max_staleness=1`). Its `request_timeout` is {REQUEST_TIMEOUT_SECONDS:g} s. RayCollector runs
with its defaults, or with Ray's restarts (`max_restarts=-1`, `max_task_retries=-1`).

* **Stale frames** were made by weights that are older than the side allows: at most 1 version for FleetCollector,
  and 0 for RayCollector.
* **Hangs**: no batch arrived for {HANG_SECONDS:g} s.
* Times are seconds after the fault: the median (least-most) of several rounds.
* **Full strength**: four collectors are available with acknowledged weights.
* The run whose driver is killed has two collectors, batches of 40 frames, and checkpoints that are 2 s apart.
  RayCollector's driver has no checkpoint.

    python -m benchmarks.faults --write docs/faults.md
"""


def in_turn(what: str, sides: Sequence[str], rounds: int, measured: Callable[[str], list[Cell]]) -> list[list[str]]:
    """Measure each side once in each round. Return one row per side, which merges the rounds."""
    found: dict[str, list[list[Cell]]] = {side: [] for side in sides}
    for _ in range(rounds):
        for side in sides:
            found[side].append(measured(side))
            print(" | ".join([what, side, *(str(cell) for cell in found[side][-1])]), flush=True)
    return [[what if side == sides[0] else "", side, *merged(cells)] for side, cells in found.items()]


def disturbed(fault: Fault, rounds: int) -> list[list[str]]:
    def one(side: str) -> list[Cell]:
        case = {"side": side, "fault": fault.fault, "batches": fault.batches}
        return _cells(measure("benchmarks.faults.disturbed", case, timeout=CHILD_SECONDS), fault.batches)

    return in_turn(fault.what, fault.sides, rounds, one)


def _cells(found: dict[str, Any] | Failed, batches: int) -> list[Cell]:
    if isinstance(found, Failed):
        return [found.why, *[""] * (len(HEADER) - 3)]
    stale = str(found["stale"])
    if found["mislabelled"] or found["twice"]:
        stale += f" (and {found['mislabelled']} with another version than they say, {found['twice']} delivered twice)"
    said = "; ".join(part for part in (found.get("states"), _short(found.get("error"))) if part)
    return [
        _short(found["outcome"]),
        f"{found['batches']} of {batches}",
        f"{found['counted']} / {found['frames']}",
        stale,
        found["pause"],
        _seconds(found.get("noticed")),
        _seconds(found.get("full_strength")),
        said or "-",
    ]


def _short(text: str | None, most: int = 160) -> str:
    return textwrap.shorten(text or "", most, placeholder=" ...")


def _seconds(value: float | None) -> Cell:
    return "-" if value is None else value


def killed_driver(rounds: int) -> list[list[str]]:
    what = "the driver is killed (`kill -9`) and started again"
    return in_turn(what, (FLEET, RAY), rounds, lambda side: driver_killed.cells(driver_killed.kill_driver(side)))


def slow(rounds: int, batches: int = 15) -> list[list[str]]:
    """Return rows with the frames per second without and with a slow collector, and the percentage that is left."""
    ways: list[tuple[str, str, dict[str, Any]]] = [(RAY, "", {}), (FLEET, "one batch ahead", {})]
    ways.append((FLEET, "`shares=16`", {"shares": 16}))
    ways.append((FLEET, "`first_shares=2`", {"first_shares": 2}))
    ways.append((FLEET, "`preemptive_threshold=0.75`, frames that were made", {"preemptive_threshold": 0.75}))
    measured: dict[tuple[str, str], list[list[Cell]]] = {(side, name): [] for side, name, _ in ways}
    for _ in range(rounds):
        for side, name, options in ways:
            measured[side, name].append(_slowed(side, options, batches))
            print(" | ".join([side, name, *(str(cell) for cell in measured[side, name][-1])]), flush=True)
    return [[side, name, *merged(cells)] for (side, name), cells in measured.items()]


def _slowed(side: str, options: dict[str, Any], batches: int) -> list[Cell]:
    rates: list[float] = []
    for is_slow in (False, True):
        case = {"side": side, "slow": is_slow, "batches": batches, "options": options}
        found = measure("benchmarks.faults.slow", case, timeout=CHILD_SECONDS)
        if isinstance(found, Failed):
            return [found.why, "", ""]
        rates.append(found["frames/s"])
    return [*rates, rates[1] / rates[0] * 100]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join([*FAULTS, "driver", "slow"]), help="comma-separated faults")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured")
    parser.add_argument("--write", metavar="FILE", help="write the tables there too")
    args = parser.parse_args()
    started = time.monotonic()
    rows: list[list[str]] = []
    parts: list[str] = []
    names = args.only.split(",")
    for name in names:
        if name == "memory" and (why := memory_limit.missing()):
            print(f"memory: left out, {why}", file=sys.stderr)
        elif name in FAULTS:
            rows += disturbed(FAULTS[name], args.rounds)
        elif name == "driver":
            rows += killed_driver(args.rounds)
    if rows:
        parts.append(tables.table(HEADER, rows))
    if "slow" in names:
        header = ["one of four collectors is 10 times slower", "", "frames/s without it", "with it", "% kept"]
        parts.append(tables.table(header, slow(args.rounds)))
    parts.append(f"{tables.machine()}; n = {args.rounds}; {(time.monotonic() - started) / 60:.0f} minutes.")
    text = "\n\n".join(parts)
    print(f"\n{text}")
    if args.write:
        tables.write(args.write, f"{INTRODUCTION}\n{text}")


if __name__ == "__main__":
    main()
