"""Compare RayCollector and FleetCollector, and print a table with ratios of the same round.

    python -m benchmarks.raycollector [--rounds 5] [--only pixels,small,on_policy,...] [--write FILE]

The sides alternate within a round, and the order flips from round to round. So changes of the machine's speed affect
both sides, and ratios mean more than seconds. Each measurement is a process with its own Ray. A measurement that hangs
is ended and reports what it waited for. The other measurements continue.
"""

from __future__ import annotations

import argparse
import os
import time

from benchmarks.common import tables
from benchmarks.common.child import Failed, measure
from benchmarks.raycollector.cases import GROUPS, Case
from benchmarks.raycollector.sides import FLEET, RAY

# The timeout of one child, which starts Ray, imports torch in all processes and measures. Its waits have shorter ones.
CHILD_SECONDS = 240.0
WHAT = {
    "frames/s": "frames/s",
    "CPU us/frame": "CPU per frame (µs)",
    "% kept": "%",
    "ms": "ms",
    "longest ms": "the longest of a row, ms",
    "start s": "constructor to first batch (s)",
}

Found = dict[str, float] | Failed
INTRODUCTION = """# FleetCollector beside RayCollector

This page compares throughput and CPU of both collectors with the same environments, policies and arguments. The
environments' steps either sleep or cost almost no CPU.

Cells are median (min-max) over the rounds. A ratio is FleetCollector / RayCollector of the same round. CPU per frame
includes driver, workers and Ray. In CPU-bound rows, ratios from 0.8 to 1.2 are noise.

* *zero-copy* is RayCollector with `RAY_ENABLE_ZERO_COPY_TORCH_TENSORS=1`. Its batches are read-only, like
  FleetCollector's batches with `copy=False`.
* *our Ray settings* is RayCollector on a Ray cluster with FleetCollector's settings
  (`collectorfleet_api.ray_settings`).
* *collectors alone* runs the same number of TorchRL collectors without RayCollector. Nothing uses their frames.

    python -m benchmarks.raycollector --write docs/benchmarks.md
"""


def run_round(case: Case, number: int) -> list[Found]:
    """Measure each variant of the case once and return the results in the order of the variants."""
    order = list(enumerate(case.variants))
    found: dict[int, Found] = {}
    for index, variant in order if number % 2 == 0 else reversed(order):
        found[index] = measure(
            "benchmarks.raycollector.measures",
            case.spec(variant),
            timeout=CHILD_SECONDS,
            environment=variant.process_environment,
        )
        print(f"round {number + 1}: {case.what}: {variant}: {_line(found[index])}", flush=True)
    return [found[index] for index in range(len(case.variants))]


def _line(found: Found) -> str:
    if isinstance(found, Failed):
        return found.why
    return ", ".join(f"{key} {tables.number(value)}" for key, value in found.items())


def rows(case: Case, rounds: list[list[Found]]) -> list[list[str]]:
    """Return the table's rows of a case: one per pair of variants and unit. A failed side leaves its round out."""
    made = []
    for theirs, ours in case.pairs:
        names = [v.name for v in (case.variants[theirs], case.variants[ours]) if v.name]
        what = ", ".join([case.what, *names])
        for key in case.keys:
            pairs = [
                (a[key], b[key])
                for found in rounds
                for a, b in [(found[theirs], found[ours])]
                if isinstance(a, dict) and isinstance(b, dict)
            ]
            cells = [tables.spread([a for a, _ in pairs]), tables.spread([b for _, b in pairs])]
            ratios = tables.spread([b / a for a, b in pairs], "x")
            if len(pairs) < len(rounds):
                ratios += (
                    f"; {len(rounds) - len(pairs)} of {len(rounds)} rounds without: {_failures(rounds, theirs, ours)}"
                )
            made.append([f"{what}, {WHAT[key]}", *cells, ratios])
    return made


def _failures(rounds: list[list[Found]], *indices: int) -> str:
    return "; ".join(sorted({f.why for found in rounds for i in indices if isinstance(f := found[i], Failed)}))


def breakdown_table(rounds: int) -> str:
    """Return a table of the parts of a weight update, each measured alone."""
    found = [measure("benchmarks.raycollector.breakdown", {}, timeout=CHILD_SECONDS) for _ in range(rounds)]
    known = [one for one in found if not isinstance(one, Failed)]
    parts = [[part, tables.spread([one[part] for one in known])] for part in (known[0] if known else ())]
    return tables.table(["25 MB in 196 tensors, each part alone", "ms"], parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default=",".join(GROUPS), help="comma-separated groups")
    parser.add_argument("--scale", type=float, default=1.0, help="batches and updates of each measurement, as a factor")
    parser.add_argument("--write", metavar="FILE", help="write the table there too")
    args = parser.parse_args()
    started = time.monotonic()
    cases = [case for group in args.only.split(",") for case in GROUPS[group](args.scale)]
    found: list[list[list[Found]]] = [[] for _ in cases]
    for number in range(args.rounds):
        for case, rounds in zip(cases, found, strict=True):
            rounds.append(run_round(case, number))
        print(f"round {number + 1} of {args.rounds} done, load average {os.getloadavg()[0]:.1f}", flush=True)
    table = tables.table(
        [f"{args.rounds} paired rounds", RAY, FLEET, "ratio"],
        [row for case, rounds in zip(cases, found, strict=True) for row in rows(case, rounds)],
    )
    text = f"{table}\n\n"
    if "weights" in args.only:
        text += f"{breakdown_table(args.rounds)}\n\n"
    text += f"{tables.machine()}; {(time.monotonic() - started) / 60:.0f} minutes."
    print(f"\n{text}")
    if args.write:
        tables.write(args.write, f"{INTRODUCTION}\n{text}")


if __name__ == "__main__":
    main()
