"""Measure the cost of one reconcile in the operator's process by the number of pods, and print a table.

    python -m benchmarks.fleets.reconciles [--rounds 10] [--write docs/reconciles.md]

No API server takes part. A stub receives the operator's writes and puts the answers into the cache.
"""

from __future__ import annotations

import argparse
import asyncio
import copy
import itertools
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, cast

from benchmarks.common import tables
from benchmarks.fleets import played
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.lease import LEASE
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.pod_template import POD
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.children.table import DRIVER_CHILD, LEASE_CHILD, RAYCLUSTER_CHILD
from collectorfleet_operator.edge.cache import Cache
from collectorfleet_operator.edge.client import Kube
from collectorfleet_operator.edge.event_writer import EventWriter
from collectorfleet_operator.edge.readings import BUDGET_BYTES
from collectorfleet_operator.edge.reconcile import Reconciler
from collectorfleet_operator.objects import Key, Kind, Object, has_condition, name_of, namespace_of

# A fleet of two collectors has four pods, with the head and the driver.
SMALL: Final = 2
OTHERS: Final = 1_000
PODS: Final = 10_000
FLEETS: Final = 100
PODS_OF_EACH: Final = 100

INTRODUCTION = f"""# Reconciles: what one costs

This benchmark measures the CPU time of one reconcile in the process of the operator. All fleets are Ready, and nothing
has changed since the previous reconcile.

    python -m benchmarks.fleets.reconciles --write docs/reconciles.md

* *Python calls* are the calls of Python functions that `sys.setprofile` counts.
* *After {OTHERS:,} others*: just before, the operator reconciled {OTHERS:,} other fleets of four pods. The
  operator caches {BUDGET_BYTES // 2**20} MiB of parsed fleets, about 1,200 such fleets.
* A stub replaces the API server.
* *{FLEETS} fleets*: the total time of their reconciles, one after the other.
"""


class StubKube:
    """A client that answers every write as the API server would, and keeps the written objects in a cache."""

    def __init__(self) -> None:
        self.cache = Cache(lambda: 0.0)
        self.now = datetime.now(UTC)
        self._versions = itertools.count(1)

    async def find(self, _kind: Kind, _namespace: str, _name: str) -> Object | None:
        return None

    async def apply(self, kind: Kind, manifest: Object) -> Object:
        before = self.cache.get(kind, Key(namespace_of(manifest), name_of(manifest))) or {}
        kept = {**before.get("metadata", {}), **manifest["metadata"]}
        return self.put(kind, {**before, **manifest, "metadata": kept})

    apply_new = create = apply

    async def apply_status(self, stored: Object, status: Object) -> Object:
        return self.put(FLEET, {**stored, "status": {**stored.get("status", {}), **status}})

    def put(self, kind: Kind, obj: Object) -> Object:
        """Store an object as the API server would."""
        obj = copy.deepcopy(obj)
        version = str(next(self._versions))
        obj["metadata"] = {
            "uid": f"uid-{version}",
            "creationTimestamp": played.time_text(),
            **obj["metadata"],
            "resourceVersion": version,
        }
        self.cache.put(kind, obj)
        return obj


def resting(kube: StubKube, reconciler: Reconciler, number: int, collectors: int) -> Key:
    """Make a Ready fleet with one worker pod per collector, and return its key."""
    workers = {"collectorsPerPod": 1}
    resources = {"cpu": 1, "memory": "2Gi"}
    made = played.fleet(number, workers=workers, collectors={"replicas": collectors, "resources": resources})
    made["metadata"]["generation"] = 1
    key = Key(namespace_of(made), name_of(made))
    kube.put(FLEET, made)
    asyncio.run(reconciler.reconcile(key))
    children = [kube.cache.get(RAYCLUSTER, RAYCLUSTER_CHILD.key(key)), kube.cache.get(JOB, DRIVER_CHILD.key(key))]
    for pod in played.pods_of([one for one in children if one is not None]):
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": played.time_text()}
        kube.put(POD, {**pod, "status": {"phase": "Running", "conditions": [ready]}})
    driver = next(pod for pod in kube.cache.pods_of(key) if pod.role == "driver")
    lease = kube.cache.get(LEASE, LEASE_CHILD.key(key))
    assert lease is not None
    kube.put(LEASE, {**lease, "spec": {"holderIdentity": driver.name, "renewTime": played.micro_time_text()}})
    stored = kube.cache.get(FLEET, key)
    assert stored is not None
    report = played.report_of(stored, 3)["status"]
    report["collectors"] = report["collectors"][:100]  # a driver reports at most 100 collectors
    kube.put(FLEET, {**stored, "status": {**stored.get("status", {}), **report}})
    for _ in range(2):
        asyncio.run(reconciler.reconcile(key))
    stored = kube.cache.get(FLEET, key)
    assert stored is not None
    assert has_condition(stored, "Ready"), stored["status"]["conditions"][0]
    return key


def operator() -> tuple[StubKube, Reconciler]:
    """Return a stub of the API server and a reconciler that uses the stub."""
    kube = StubKube()
    as_kube = cast("Kube", kube)
    return kube, Reconciler(as_kube, kube.cache, lambda: kube.now, EventWriter(as_kube, lambda: kube.now))


def python_calls(reconciler: Reconciler, key: Key) -> int:
    """Return the number of calls of Python functions in one reconcile."""
    calls = 0

    def count(_frame: Any, event: str, _arg: Any) -> None:
        nonlocal calls
        calls += event == "call"

    async def counted() -> None:
        sys.setprofile(count)
        try:
            await reconciler.reconcile(key)
        finally:
            sys.setprofile(None)

    asyncio.run(counted())
    return calls


def cpu_ms(reconciler: Reconciler, keys: Sequence[Key], rounds: int) -> list[float]:
    """Return the CPU milliseconds of a reconcile of all ``keys``, one after the other, for each round."""

    async def one_round() -> float:
        began = time.process_time()
        for key in keys:
            await reconciler.reconcile(key)
        return 1e3 * (time.process_time() - began)

    return [asyncio.run(one_round()) for _ in range(rounds)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10, metavar="N")
    parser.add_argument("--write", metavar="FILE", help="write the table there too")
    args = parser.parse_args()
    kube, reconciler = operator()
    small = resting(kube, reconciler, 0, SMALL)
    calls, spent = python_calls(reconciler, small), cpu_ms(reconciler, [small], args.rounds)
    for number in range(1, OTHERS + 1):
        resting(kube, reconciler, number, SMALL)
    after_others = python_calls(reconciler, small)
    kube, reconciler = operator()
    fleets = [resting(kube, reconciler, number, PODS_OF_EACH - 2) for number in range(FLEETS)]
    many = cpu_ms(reconciler, fleets, args.rounds)
    kube, reconciler = operator()
    large = cpu_ms(reconciler, [resting(kube, reconciler, 0, PODS - 2)], args.rounds)
    rows = [
        ["Python calls, a fleet of 4 pods", tables.number(calls)],
        [f"Python calls, a fleet of 4 pods, after {OTHERS:,} others", tables.number(after_others)],
        ["CPU of a fleet of 4 pods (ms)", tables.spread(spent)],
        [f"CPU of a fleet of {PODS:,} pods (ms)", tables.spread(large)],
        [f"CPU of {FLEETS} fleets of {PODS_OF_EACH} pods (ms)", tables.spread(many)],
    ]
    table = tables.table(["", f"median (least-most), n = {args.rounds}"], rows)
    text = f"{table}\n\n{tables.machine('pydantic')}."
    print(f"\n{text}")
    if args.write:
        tables.write(args.write, f"{INTRODUCTION}\n{text}")


if __name__ == "__main__":
    main()
