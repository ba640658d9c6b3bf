"""Compare the three transports with each other and with TorchRL's classes, and print a table.

    python -m benchmarks.transports [--rounds 5] [--only small,large] [--sides rpc,...] [--quick] [--write FILE]

The sides alternate within a round, and the order flips from round to round. Each measurement is a child process, with
its own Ray if the side needs Ray. Ratios compare values of the same round with ``object_store``, and a class of TorchRL
with the transport that replaces it.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass

from benchmarks.common import tables
from benchmarks.common.child import Failed, measure
from benchmarks.transports.sides import BESIDE, OURS, THEIRS

CHILD_SECONDS = 150.0
Found = dict[str, float] | Failed


@dataclass(frozen=True)
class Measured:
    """A measurement. ``units`` has the names of a child's results in the table.

    ``number`` is the number of batches, updates or kills, and ``quick`` the number with ``--quick``. ``of_theirs`` says
    whether TorchRL's classes take part.
    """

    units: dict[str, str]
    number: int
    quick: int
    of_theirs: bool = True


MEASURES = {
    "small": Measured({"frames/s": "4 floats, frames/s", "start s": "start, s"}, 200, 4),
    "large": Measured({"frames/s": "4 x 84 x 84 bytes, frames/s"}, 60, 4),
    "25 MB": Measured({"ms": "25 MB of weights to both, ms"}, 7, 2),
    # TorchRL's classes end if they lose a collector.
    "killed": Measured({"s": "a killed collector replaced, s"}, 3, 1, of_theirs=False),
}
INTRODUCTION = """# Transports side by side

Two collectors of 8 environments collect asynchronously. Environment steps take almost no CPU time.

* Weights: the time until both idle collectors have acknowledged weights, or until TorchRL's
  `update_policy_weights_` returns.
* Killed: the time from SIGKILL to the first batch after a replacement is available.

Cells are median (min-max) over the rounds. A ratio compares two values of one round. *Of ours in its place* compares
TorchRL's class with our transport that replaces it.

    python -m benchmarks.transports --rounds {rounds} --write docs/transports-measured.md
"""


def run_round(what: str, sides: list[str], number: int, *, quick: bool) -> dict[str, Found]:
    """Measure each side once."""
    measured = MEASURES[what]
    taking_part = [side for side in sides if measured.of_theirs or side in OURS]
    found: dict[str, Found] = {}
    for side in taking_part if number % 2 == 0 else reversed(taking_part):
        case = {"side": side, "measure": what, "rounds": measured.quick if quick else measured.number}
        found[side] = measure("benchmarks.transports.measures", case, timeout=CHILD_SECONDS)
        print(f"round {number + 1}: {what}: {side}: {found[side]}", flush=True)
    return found


def rows(what: str, rounds: list[dict[str, Found]]) -> list[list[str]]:
    """Return a row per unit and side: the value, the ratio to object_store, and TorchRL's ratio to our transport."""
    sides = [side for side in (*OURS, *THEIRS) if any(side in found for found in rounds)]
    return [
        [
            named,
            side,
            _values(rounds, side, unit),
            _ratio(rounds, unit, side, OURS[0]) if side in OURS[1:] else "",
            _ratio(rounds, unit, side, BESIDE[side]) if side in THEIRS else "",
            f"{len(_good(rounds, side))} of {len(rounds)}",
        ]
        for unit, named in MEASURES[what].units.items()
        for side in sides
    ]


def _good(rounds: list[dict[str, Found]], side: str) -> list[dict[str, float]]:
    return [one for found in rounds for one in [found.get(side)] if isinstance(one, dict)]


def _values(rounds: list[dict[str, Found]], side: str, unit: str) -> str:
    """Return the values of all rounds, and the errors of failed rounds."""
    failed = {one.why for found in rounds for one in [found.get(side)] if isinstance(one, Failed)}
    values = [one[unit] for one in _good(rounds, side)]
    return "; ".join([*([tables.spread(values)] if values else []), *sorted(failed)])


def _ratio(rounds: list[dict[str, Found]], unit: str, side: str, beside: str) -> str:
    pairs = [
        one[unit] / other[unit]
        for found in rounds
        for one, other in [(found.get(side), found.get(beside))]
        if isinstance(one, dict) and isinstance(other, dict)
    ]
    return tables.spread(pairs, "x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default=",".join(MEASURES), help="comma-separated: what is measured")
    parser.add_argument("--sides", default=",".join((*OURS, *THEIRS)), help="comma-separated")
    parser.add_argument("--quick", action="store_true", help="a few batches each: whether it runs, and no figures")
    parser.add_argument("--write", metavar="FILE", help="write the table there too")
    args = parser.parse_args()
    measures, sides = args.only.split(","), args.sides.split(",")
    found: dict[str, list[dict[str, Found]]] = {what: [] for what in measures}
    for number in range(args.rounds):
        for what in measures:
            found[what].append(run_round(what, sides, number, quick=args.quick))
        print(f"round {number + 1} of {args.rounds} done, load average {os.getloadavg()[0]:.1f}", flush=True)
    table = tables.table(
        ["what", "side", "value", "of object_store", "of ours in its place", "rounds"],
        [row for what in measures for row in rows(what, found[what])],
    )
    text = f"{table}\n\n{tables.machine()}."
    print(f"\n{text}")
    if args.write:
        tables.write(args.write, f"{INTRODUCTION.format(rounds=args.rounds)}\n{text}")


if __name__ == "__main__":
    main()
