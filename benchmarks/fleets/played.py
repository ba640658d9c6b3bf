"""Plays KubeRay, the Job controller, kubelets and drivers: it writes their pods, Leases, reports and statuses."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import aiohttp

from benchmarks.fleets.api import Api, each
from collectorfleet_api import names
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.group_sizes import worker_groups
from collectorfleet_operator.children.lease import LEASE
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.pod_template import POD, PodRole
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.children.worker_group import GROUP_LABEL
from collectorfleet_operator.decide.driver_lost import LOST_AFTER
from collectorfleet_operator.objects import Key, Kind, Object, controller_uid, label, name_of, namespace_of, uid_of

COLLECTORS: Final = 2
NAMESPACES: Final = 10
BARE: Final = "bare"
NAMESPACE: Final = Kind("v1", "Namespace", "namespaces")
ACCOUNT: Final = Kind("v1", "ServiceAccount", "serviceaccounts")
# A driver renews its Lease after half of the time after which it counts as lost.
RENEW_SECONDS: Final = LOST_AFTER.total_seconds() / 2
# The most reports or renewals that are sent at the same time.
_AT_ONCE: Final = 16
_CATCHES_UP_SECONDS: Final = 1.0
_pods = itertools.count()


def fleet(number: int, namespace: str | None = None, **spec: object) -> Object:
    """Return the ``number``-th fleet. ``spec`` overrides fields of its spec."""
    return {
        "apiVersion": FLEET.api_version,
        "kind": FLEET.kind,
        "metadata": {"name": f"fleet-{number}", "namespace": namespace or f"fleets-{number % NAMESPACES}"},
        "spec": {
            "image": "ghcr.io/you/cheetah:1.0",
            "environment": {"factory": "my_envs:make_env", "kwargs": {"id": "HalfCheetah-v5"}},
            "policy": {"factory": "my_policy:make_actor", "kwargs": {"cells": [256, 256]}},
            "driver": {"train": {"function": "my_train:train", "kwargs": {"lr": 0.0003}}},
            "collection": {"mode": "Sync", "framesPerBatch": 4000},
            "collectors": {"replicas": COLLECTORS, "resources": {"cpu": 1, "memory": "2Gi"}},
            **spec,
        },
    }


async def make_pods(api: Api, fleets: Iterable[Object], leases: Leases) -> None:
    """Create the missing pods of the stored RayClusters and Jobs of ``fleets``. Each pod is Ready at once.

    Each new driver takes its Lease.
    """
    wanted = {(namespace_of(one), name_of(one)) for one in fleets}
    there = Counter(
        (str(controller_uid(pod)), pod["metadata"]["labels"].get(GROUP_LABEL, "")) for pod in await api.list(POD)
    )
    made: list[Object] = []
    for cluster in await api.list(RAYCLUSTER):
        if (namespace_of(cluster), name_of(cluster)) in wanted:
            made += _pods_of_cluster(cluster, there)
    for job in await api.list(JOB):
        if (namespace_of(job), name_of(job).removesuffix("-driver")) in wanted and not there[uid_of(job), ""]:
            made += _pods_of_job(job)

    async def make(pod: Object) -> None:
        await api.create(POD, pod)
        now = time_text()
        conditions = [
            {"type": type_, "status": "True", "lastTransitionTime": now} for type_ in ("PodScheduled", "Ready")
        ]
        status = {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}], "conditions": conditions}
        await api.merge(POD, namespace_of(pod), name_of(pod), {"status": status}, "status")
        if label(pod, names.ROLE_LABEL) == PodRole.DRIVER:
            await leases.take(pod)

    await each(made, make)


def pods_of(children: Iterable[Object]) -> list[Object]:
    """Return the pods of the given RayClusters and driver Jobs, without a status."""
    return [
        pod
        for child in children
        for pod in (_pods_of_cluster(child, Counter()) if child["kind"] == RAYCLUSTER.kind else _pods_of_job(child))
    ]


def _pods_of_job(job: Object) -> list[Object]:
    return [_pod(job, job["spec"]["template"], "driver")]


def _pods_of_cluster(cluster: Object, there: Counter[tuple[str, str]]) -> list[Object]:
    made = []
    if not there[uid_of(cluster), "headgroup"]:
        made.append(_pod(cluster, cluster["spec"]["headGroupSpec"]["template"], "headgroup"))
    for name, group in worker_groups(cluster).items():
        missing = group["replicas"] - there[uid_of(cluster), name]
        made += [_pod(cluster, group["template"], name) for _ in range(missing)]
    return made


def _pod(owner: Object, template: Object, group: str) -> Object:
    of_cluster = owner["kind"] == RAYCLUSTER.kind
    reference = {key: owner[key] for key in ("apiVersion", "kind")} | {"name": name_of(owner), "uid": uid_of(owner)}
    return {
        "apiVersion": POD.api_version,
        "kind": POD.kind,
        "metadata": {
            "name": f"{name_of(owner)}-{group}-{next(_pods)}",
            "namespace": namespace_of(owner),
            "labels": {**template["metadata"]["labels"], **({GROUP_LABEL: group} if of_cluster else {})},
            "annotations": template["metadata"].get("annotations") or {},
            "ownerReferences": [{**reference, "controller": True, "blockOwnerDeletion": True}],
        },
        "spec": {**template["spec"], "nodeName": "node-1"},
    }


def report_of(stored: Object, batches: int) -> Object:
    """Return the driver's report after ``batches``, with acknowledged weights on every collector."""
    count = stored["spec"]["collectors"]["replicas"]
    rows = [
        {"name": f"c{n}", "state": "Ready", "appliedVersion": batches, "batches": batches, "frames": batches * 2000}
        for n in range(count)
    ]
    return {
        "apiVersion": FLEET.api_version,
        "kind": FLEET.kind,
        "metadata": {"name": name_of(stored), "namespace": namespace_of(stored)},
        "status": {
            "fleetUID": uid_of(stored),
            "driverIncarnation": 1,
            "weights": {"published": batches, "acknowledged": batches},
            "progress": {
                "batches": batches,
                "framesDelivered": batches * 4000,
                "collectors": {"desired": count, "available": count, "summary": f"{count}/{count}"},
            },
            "collectors": rows,
        },
    }


class Leases:
    """The Leases of drivers. Each is renewed every ``RENEW_SECONDS``, because real intervals would load the API server.

    A thousand real drivers renew their Leases 200 times per second.
    """

    def __init__(self, api: Api) -> None:
        self._api = api
        self._held: list[Key] = []

    async def take(self, driver: Object) -> None:
        """Let a new driver pod take its fleet's Lease."""
        key = Key(namespace_of(driver), names.driver_name(str(label(driver, names.FLEET_LABEL))))
        now = micro_time_text()
        spec = {"holderIdentity": name_of(driver), "acquireTime": now, "renewTime": now, "leaseDurationSeconds": 15}
        await self._api.merge(LEASE, key.namespace, key.name, {"spec": spec})
        self._held.append(key)

    @contextlib.asynccontextmanager
    async def renewing(self) -> AsyncIterator[None]:
        """Renew all taken Leases in turn during the block. A failed renewal is retried in the next turn."""
        async with _beside(self._renew_in_turn()):
            yield

    async def _renew_in_turn(self) -> None:
        """Renew for ever, several at a time. On a busy server, single renewals would be late, and drivers lost."""
        free = asyncio.Semaphore(_AT_ONCE)
        async with asyncio.TaskGroup() as sending:
            while True:
                began = time.monotonic()
                for number, key in enumerate(self._held[:], 1):
                    await free.acquire()
                    sending.create_task(self._renew(key)).add_done_callback(lambda _: free.release())
                    due = began + RENEW_SECONDS * number / len(self._held)
                    await asyncio.sleep(max(0.0, due - time.monotonic()))
                # Without a taken Lease the loop would not pause.
                await asyncio.sleep(0.1)

    async def _renew(self, key: Key) -> None:
        with contextlib.suppress(aiohttp.ClientError):
            await self._api.merge(LEASE, key.namespace, key.name, {"spec": {"renewTime": micro_time_text()}})


class Drivers:
    """Drivers of fleets, which report in turn. ``sent`` counts the reports."""

    def __init__(self, api: Api, fleets: Sequence[Object]) -> None:
        self._api = api
        self._fleets = fleets
        self.batches = 3
        self.sent = 0

    async def report_once(self) -> None:
        """Send one report of each driver."""
        self.batches += 1
        await each(self._fleets, self._report)

    @contextlib.asynccontextmanager
    async def reporting(self, every_seconds: float) -> AsyncIterator[None]:
        """Send a report of each driver every ``every_seconds`` during the block. Raises the error of a report."""
        async with _beside(self._report_in_turn(every_seconds / len(self._fleets))):
            yield

    async def _report_in_turn(self, pause_seconds: float) -> None:
        due, free = time.monotonic(), asyncio.Semaphore(_AT_ONCE)
        async with asyncio.TaskGroup() as sending:
            for number in itertools.count():
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                if number % len(self._fleets) == 0:
                    self.batches += 1
                # The limit keeps requests from piling up at a slow server.
                await free.acquire()
                report = sending.create_task(self._report(self._fleets[number % len(self._fleets)]))
                report.add_done_callback(lambda _: free.release())
                due = max(due + pause_seconds, time.monotonic() - _CATCHES_UP_SECONDS)

    async def _report(self, stored: Object) -> None:
        await self._api.apply(FLEET, report_of(stored, self.batches), names.DRIVER_MANAGER, "status")
        self.sent += 1


def some(fleets: Sequence[Object], count: int) -> list[Object]:
    """Return ``count`` of the fleets, or all if there are fewer. Every run gets the same choice."""
    return random.Random(7).sample(list(fleets), min(count, len(fleets)))


def micro_time_text() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def time_text() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@contextlib.asynccontextmanager
async def _beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run ``work`` as a task during the block, and cancel it after the block. Raises the error of ``work``."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
