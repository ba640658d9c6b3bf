"""Measure the operator with 10, 100 and 1,000 fleets on a real API server and etcd, and print a table.

    python -m benchmarks.fleets [--sizes 10 100 1000] [--rounds 5] [--idle 10000] [--outage 60] [--write docs/fleets.md]

The command stores the fleets, lets them converge, and plays four pods of each fleet until all fleets are Ready. Then it
changes fleets while some or all drivers report, leaves them idle, and stops the API server for a time. It measures the
first part, until the fleets have converged, ``--rounds`` times on new API servers. ``--keep FILE`` keeps the results
and adds them to the results of an earlier run in FILE.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import json
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from tests.cluster import binaries, module_files
from tests.cluster.control_plane import ControlPlane
from tests.integration.operator_process import kubeconfig

from benchmarks.common import tables
from benchmarks.fleets import played
from benchmarks.fleets.api import Api
from benchmarks.fleets.measures import Fleets, Found
from benchmarks.fleets.process import Operator
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.objects import has_condition

INTRODUCTION = """# Fleets: how many one operator serves

This page shows how the costs of one operator grow with the number of fleets. API server and etcd are real, and run on
the same cores. The benchmark simulates KubeRay, the Job controller, the kubelets and the drivers. Each fleet has four
pods.

    python -m benchmarks.fleets --idle 10000 --write docs/fleets.md

* *Converge* begins when the operator is ready, and ends when the last fleet has a status. *Bare calls* send the same
  objects without an operator, for 16 fleets at a time.
* Ranges: five rounds, each with a new API server.
* An *operator without any CPU* would leave both cores to the API server and etcd.
* *A change* adds one collector to a fleet, every 0.2 s. The measurement ends when a watch shows the worker in the
  RayCluster. *After the answer* leaves out the time until the API server answers the request.
* *All report*: every driver reports once in 10 s, or less often to stay below half of the API server's maximum rate.
* *Quiet* is the time until the process uses at most 0.15 of a core in every second.
* *A step* is one callback of the event loop, including garbage collection.
* Simulated drivers renew their Leases every 20 s, real drivers every 5 s.
"""

Step = Callable[[Fleets], Awaitable[Found]]
Keep = Callable[[Found], None]
# The values of all rounds, for each row of the table.
Rounds = dict[str, list[float]]


async def measure(size: int, outage_seconds: float, rounds: int, keep: Keep, folder: Path) -> None:
    """Measure ``size`` fleets, and how they converge in ``rounds`` rounds.

    Calls ``keep`` with the results of each step, because a step takes minutes with a thousand fleets.
    """
    for number in range(1, rounds):
        other = folder / f"round-{number}"
        other.mkdir()
        async with on_a_plane(other, size) as fleets:
            await _take(fleets, Fleets.converge, keep)

    async def outage(fleets: Fleets) -> Found:
        return await fleets.outage(outage_seconds)

    steps: list[Step] = [
        Fleets.converge,
        Fleets.get_ready,
        Fleets.change_under_reports,
        Fleets.rest,
        Fleets.change_at_once,
        Fleets.change_while_all_report,
        Fleets.restart,
    ]
    if outage_seconds:
        steps.append(outage)
    async with on_a_plane(folder, size) as fleets, fleets.leases.renewing():
        for step in steps:
            await _take(fleets, step, keep)


async def _take(fleets: Fleets, step: Step, keep: Keep) -> None:
    if not fleets.stored:
        await fleets.store()
    began = time.monotonic()
    measured = await step(fleets)
    keep(measured)
    print(f"{fleets.count} fleets: -- {step.__name__} took {time.monotonic() - began:.0f} s", flush=True)
    for what, value in measured.items():
        print(f"{fleets.count} fleets: {what}: {tables.number(value)}", flush=True)


async def measure_idle(count: int, keep: Keep, folder: Path) -> None:
    """Measure the operator at rest with ``count`` suspended fleets."""
    async with on_a_plane(folder, count) as fleets:
        await fleets.store(suspend=True)
        fleets.operator.launch()
        await fleets.operator.ready()
        await fleets.until(FLEET, lambda one: has_condition(one, "Suspended"))
        await asyncio.sleep(10)
        keep(await fleets.rest())


@contextlib.asynccontextmanager
async def on_a_plane(folder: Path, size: int) -> AsyncIterator[Fleets]:
    """Run a new API server and etcd during the block. Yield ``size`` fleets and an operator, which is not started."""
    plane = ControlPlane(folder, kuberay=False, controllers=False)
    await asyncio.to_thread(plane.start)
    try:
        for crds in (binaries.ROOT / "crds", module_files.KUBERAY.folder() / "config/crd/bases"):
            await asyncio.to_thread(plane.apply_crds, crds)
        names = [f"fleets-{number}" for number in range(played.NAMESPACES)] + [played.BARE]
        objects = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in names]
        accounts = [
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": name}}
            for name in names
        ]
        await asyncio.to_thread(plane.apply, [*objects, *accounts])
        operator = Operator(folder, await asyncio.to_thread(kubeconfig, plane, folder))
        async with Api.connect(plane.kubeconfig) as api:
            with operator.running():
                yield Fleets(plane, api, operator, size)
    finally:
        await asyncio.to_thread(plane.stop)


def table(found: dict[str, Rounds], growth: list[str]) -> str:
    """Return the table of the results, with a column per size. ``growth`` names the columns to compare, in order.

    The last column is the median in the last of these columns divided by the median in the first.
    """
    names = list(dict.fromkeys(what for column in found.values() for what in column))
    rows = []
    for what in names:
        cells = [tables.spread(column.get(what, [])) for column in found.values()]
        ends = [found[growth[end]].get(what, []) for end in (0, -1)] if len(growth) > 1 else [[]]
        first, last = (statistics.median(ends[end] or [0.0]) for end in (0, -1))
        grown = f"{tables.number(last / first)}x" if first and last else "-"
        rows.append([what, *cells, grown])
    return tables.table(["", *found, "growth"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="*", default=[10, 100, 1000], metavar="N")
    parser.add_argument(
        "--rounds", type=int, default=5, metavar="N", help="of the first part, until all have converged"
    )
    parser.add_argument("--idle", type=int, default=0, metavar="N", help="suspended fleets, for memory; 0: none")
    parser.add_argument("--outage", type=float, default=60.0, metavar="SECONDS", help="0 leaves it out")
    parser.add_argument("--keep", metavar="FILE", help="keep what was measured there, beside what is kept already")
    parser.add_argument("--write", metavar="FILE", help="write the table there too")
    args = parser.parse_args()
    kept = Path(args.keep) if args.keep else None
    found: dict[str, Rounds] = json.loads(kept.read_text()) if kept and kept.exists() else {}
    columns = {f"{size:,} fleets": functools.partial(measure, size, args.outage, args.rounds) for size in args.sizes}
    if args.idle:
        columns[f"{args.idle:,} suspended"] = functools.partial(measure_idle, args.idle)

    def keep(column: str, measured: Found) -> None:
        for what, value in measured.items():
            found[column].setdefault(what, []).append(value)
        if kept:
            kept.write_text(json.dumps(found, indent=1))

    for column, measured in columns.items():
        found[column] = {}
        with tempfile.TemporaryDirectory(prefix="fleets-") as folder:
            asyncio.run(measured(functools.partial(keep, column), Path(folder)))
    growth = [column for column in found if column.endswith("fleets")]
    text = f"{table(found, growth)}\n\n{tables.machine('kubernetes', 'kopf', 'aiohttp')}."
    print(f"\n{text}")
    if args.write:
        tables.write(args.write, f"{INTRODUCTION}\n{text}")


if __name__ == "__main__":
    main()
