"""Sends the requests of a fleet's reconcile without an operator, to measure how fast the API server stores them."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import NamedTuple

from benchmarks.fleets.api import Api, each
from benchmarks.fleets.played import BARE, fleet, time_text
from benchmarks.fleets.process import Server
from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.table import DRIVER_CHILD, RAYCLUSTER_CHILD, manifests
from collectorfleet_operator.decide.events import EVENT, event, made
from collectorfleet_operator.decide.job import read_job
from collectorfleet_operator.decide.raycluster import read_raycluster
from collectorfleet_operator.decide.situation import Situation
from collectorfleet_operator.decide.status import status
from collectorfleet_operator.objects import Key, Kind, Object


class Rate(NamedTuple):
    """Fleets per second, and the CPU seconds of a fleet: of the API server with etcd, and of the client."""

    fleets_per_second: float
    server_cpu_seconds: float
    client_cpu_seconds: float


async def rate(api: Api, server: Server, count: int) -> Rate:
    """Return how fast the API server stores ``count`` fleets, each with children, Events and a status.

    All objects are built before the measurement and deleted after it.
    """
    asked: list[list[tuple[Kind, Object]]] = []
    statuses: list[Object] = []

    async def store(number: int) -> None:
        stored = CollectorFleet.parse_stored(await api.create(FLEET, fleet(number, BARE)))
        now = datetime.now(UTC)
        children = list(manifests(stored).items())
        key, uid = Key(BARE, stored.metadata.name), str(stored.metadata.uid)
        changes = [made(f"{child.kind} {number}", f"{child.kind}") for child, _ in children if child.announced]
        events = [(EVENT, event(key, uid, change, now)) for change in changes]
        asked.append([*((child.kind, obj) for child, obj in children), *events])
        there = {
            child: {**obj, "metadata": {**obj["metadata"], "uid": f"{child}", "creationTimestamp": time_text()}}
            for child, obj in children
        }
        job, raycluster = read_job(there[DRIVER_CHILD]), read_raycluster(there[RAYCLUSTER_CHILD])
        seen = Situation(stored, now, children=there, job=job, raycluster=raycluster)
        identity = {"name": stored.metadata.name, "namespace": BARE}
        statuses.append({**fleet(number, BARE), "metadata": identity, "status": status(seen).to_wire()})
        del statuses[-1]["spec"]

    async def send(number: int) -> None:
        for kind, obj in asked[number]:
            await (api.create(kind, obj) if kind == EVENT else api.apply(kind, obj, names.OPERATOR_MANAGER))
        await api.apply(FLEET, statuses[number], names.OPERATOR_MANAGER, "status")

    await each(range(count), store)
    began, server_cpu, client_cpu = time.monotonic(), server.cpu_seconds(), time.process_time()
    await each(range(count), send)
    took = time.monotonic() - began
    server_cpu, client_cpu = server.cpu_seconds() - server_cpu, time.process_time() - client_cpu
    for kind in (FLEET, EVENT, *(kind for kind, _ in asked[0] if kind != EVENT)):
        await api.delete_all(kind, BARE)
    return Rate(count / took, server_cpu / count, client_cpu / count)
