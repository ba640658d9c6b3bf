"""Measure the time to publish weights to two nodes behind links of a known rate, beside RayCollector.

    python -m benchmarks.link [--rounds 3] [--mbit 1000] [--write docs/link.md]

The sides alternate, and the order flips from round to round. The benchmark needs Linux and root. Nodes are network
namespaces of this machine, so all nodes share its cores.
"""

from __future__ import annotations

import argparse

from benchmarks.common import tables
from benchmarks.common.child import Failed, measure
from benchmarks.raycollector.sides import FLEET, RAY

NODES, COLLECTORS = 2, 4
WHAT = {"s": "s", "of the link": "part of the link's rate", "copies": "copies over each link"}
Found = dict[str, float] | Failed


def one(side: str, policy: str, mbit: int) -> Found:
    case = {"side": side, "policy": policy, "nodes": NODES, "collectors": COLLECTORS, "mbit": mbit, "updates": 5}
    found = measure("benchmarks.link.one", case, timeout=400)
    said = found.why if isinstance(found, Failed) else ", ".join(f"{k} {tables.number(v)}" for k, v in found.items())
    print(f"{policy}, {side}: {said}", flush=True)
    return found


def rows(policy: str, rounds: list[dict[str, Found]]) -> list[list[str]]:
    made = []
    for key, what in WHAT.items():
        pairs = [
            (theirs[key], ours[key])
            for found in rounds
            for theirs, ours in [(found[RAY], found[FLEET])]
            if isinstance(theirs, dict) and isinstance(ours, dict)
        ]
        cells = [tables.spread([pair[index] for pair in pairs]) for index in (0, 1)]
        failed = sorted({f.why for found in rounds for f in found.values() if isinstance(f, Failed)})
        ratio = "; ".join([tables.spread([ours / theirs for theirs, ours in pairs], "x"), *failed])
        made.append([f"{policy}, until {NODES} x {COLLECTORS} idle collectors have it, {what}", *cells, ratio])
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mbit", type=int, default=1000, help="of each node's link, each way")
    parser.add_argument("--write", metavar="FILE")
    args = parser.parse_args()
    table = []
    for policy in ("25 MB", "250 MB"):
        rounds: list[dict[str, Found]] = []
        for number in range(args.rounds):
            order = (RAY, FLEET) if number % 2 == 0 else (FLEET, RAY)
            rounds.append({side: one(side, policy, args.mbit) for side in order})
        table += rows(policy, rounds)
    head = [f"{args.rounds} paired rounds, links of {args.mbit} Mbit/s", RAY, FLEET, "ratio"]
    text = f"{tables.table(head, table)}\n\n{tables.machine()}."
    print(f"\n{text}")
    if args.write:
        command = f"    python -m benchmarks.link --rounds {args.rounds} --mbit {args.mbit} --write {args.write}"
        introduction = (
            "# Weights over links\n\n"
            "Each of two nodes has four collectors, and its own link to the driver's node. "
            "*Part of the link's rate* is the time\n"
            "that one copy per node takes at the full rate, divided by the measured time."
            f"\n\n{command}"
        )
        tables.write(args.write, f"{introduction}\n\n{text}")


if __name__ == "__main__":
    main()
