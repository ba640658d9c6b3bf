"""One look at a fleet, with an API server that is away in the middle of it."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest
from tests.unit.collectorfleet_operator.world import KEY, NOON, World

from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.edge.errors import UnavailableError
from collectorfleet_operator.edge.reconcile import Reconciler
from collectorfleet_operator.objects import Key, Kind, Object


class PlayedKube:
    """Takes what is written into a world; does not answer where it is told so, once each."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.silent: list[str] = []  # kinds
        self.events: list[str] = []

    async def find(self, kind: Kind, namespace: str, name: str) -> Object | None:
        return self.world.cache.get(kind, Key(namespace, name))

    async def apply(self, kind: Kind, manifest: Object) -> Object:
        self._answer(kind.kind)
        return self.world.store(copy.deepcopy(manifest))

    async def apply_status(self, _stored: Object, status: Object) -> Object:
        self._answer("status")
        fleet = self.world.get(FLEET)
        return self.world.store({**fleet, "status": {**fleet.get("status", {}), **status}})

    async def create(self, kind: Kind, manifest: Object) -> Object:
        self._answer(kind.kind)
        self.events.append(f"{manifest['reason']} {manifest['message'].split()[0]}")
        return manifest

    def _answer(self, kind: str) -> None:
        if kind in self.silent:
            self.silent.remove(kind)
            raise UnavailableError(f"write {kind}", "no answer")


@pytest.mark.parametrize("away", ["Role", JOB.kind, "Event"])
def test_what_was_done_before_the_api_server_went_away_is_told_when_it_is_back(away: str) -> None:
    world = World()
    kube = PlayedKube(world)
    reconciler = Reconciler(kube, world.cache, lambda: NOON)  # type: ignore[arg-type]
    kube.silent = [away]
    with pytest.raises(UnavailableError):
        asyncio.run(reconciler.reconcile(KEY))
    asyncio.run(reconciler.reconcile(KEY))
    assert sorted(kube.events) == ["Created Job", "Created RayCluster"]
    told: list[Any] = kube.events[:]
    asyncio.run(reconciler.reconcile(KEY))
    assert kube.events == told
