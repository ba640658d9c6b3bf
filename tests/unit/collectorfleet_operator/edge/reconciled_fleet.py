"""Reconciles of one fleet with an API server that can leave writes without an answer."""

from __future__ import annotations

import asyncio
import copy
from datetime import timedelta

from pydantic.alias_generators import to_camel
from tests.unit.collectorfleet_operator.world import KEY, World

from collectorfleet_api.v1alpha1 import OperatorStatus
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.token_secret import SECRET
from collectorfleet_operator.decide.events import EVENT
from collectorfleet_operator.edge.errors import ConflictError, RefusedError, UnavailableError
from collectorfleet_operator.edge.event_writer import EventWriter
from collectorfleet_operator.edge.reconcile import Reconciler
from collectorfleet_operator.objects import Key, Kind, Object, name_of, uid_of

AT_ONCE = timedelta(0)
_FIELDS_OF_THE_OPERATOR = {to_camel(field) for field in OperatorStatus.model_fields}


class PlayedKube:
    """An API server that stores what is written in a world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.silent: list[str] = []  # kinds, or "status"; the next write of each gets no answer
        self.takes_no_events = False
        self.refused: set[Kind] = set()
        self.events: list[str] = []  # reason and first word of the message
        self.hidden: dict[Kind, Object] = {}  # objects that are not in the cache
        self.secrets: dict[str, Object] = {}  # by name
        self.meanwhile: Object = {}  # status that somebody writes between a look and an update

    async def find(self, kind: Kind, namespace: str, name: str) -> Object | None:
        return self.hidden.get(kind) or self.world.cache.get(kind, Key(namespace, name))

    async def apply_new(self, kind: Kind, manifest: Object) -> Object:
        self._answer(kind.kind)
        if kind in self.hidden:
            raise ConflictError(f"apply {kind}", "it is of another version")
        return self.world.store(copy.deepcopy(manifest))

    async def apply(self, kind: Kind, manifest: Object) -> Object:
        self._answer(kind.kind)
        if kind in self.refused:
            raise RefusedError(f"apply {kind}", "exceeded quota")
        stored = self.world.get(kind, Key("default", name_of(manifest)))
        metadata = {**stored["metadata"], **manifest["metadata"]}
        status = {**stored.get("status", {}), **self.meanwhile}
        return self.world.written({**stored, **copy.deepcopy(manifest), "metadata": metadata, "status": status})

    async def apply_status(self, _stored: Object, status: Object) -> Object:
        self._answer("status")
        fleet = self.world.get(FLEET)
        before = fleet.get("status", {})
        others = {field: before[field] for field in before if field not in _FIELDS_OF_THE_OPERATOR}
        return self.world.store({**fleet, "status": {**others, **status}})

    async def delete(
        self, kind: Kind, key: Key, uid: str, *, force: bool = False, grace_seconds: int | None = None
    ) -> None:
        stored = self.world.get(kind, key)
        assert uid_of(stored) == uid
        self.world.collect(stored)

    async def create(self, kind: Kind, manifest: Object) -> Object:
        if self.takes_no_events and kind == EVENT:
            raise UnavailableError(f"create {kind}", "etcdserver: request timed out")
        self._answer(kind.kind)
        if kind == SECRET:
            if name_of(manifest) in self.secrets:
                raise ConflictError(f"create {kind}", "it exists already")
            self.secrets[name_of(manifest)] = manifest
            return manifest
        self.events.append(f"{manifest['reason']} {manifest['message'].split()[0]}")
        return manifest

    def _answer(self, kind: str) -> None:
        if kind in self.silent:
            self.silent.remove(kind)
            raise UnavailableError(f"write {kind}", "no answer")


class ReconciledFleet:
    """The fleet of a world, which one operator reconciles when the test says so."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.kube = PlayedKube(world)
        events = EventWriter(self.kube, lambda: world.now, lambda: world.seconds)  # type: ignore[arg-type]
        self._reconciler = Reconciler(self.kube, world.cache, lambda: world.now, events)  # type: ignore[arg-type]

    def reconcile(self) -> timedelta:
        """Reconcile the fleet. Return the time to the next reconcile if nothing happens before."""
        again = asyncio.run(self._reconciler.reconcile(KEY))
        assert again is not None
        return again

    def reconcile_until_rest(self) -> None:
        """Reconcile until the next reconcile is not due at once."""
        while self.reconcile() == AT_ONCE:
            pass

    def wait(self, seconds: float) -> None:
        """Let time pass while the driver renews its Lease."""
        self.world.seconds += seconds
        self.world.renew_lease()

    @property
    def status(self) -> Object:
        """The stored status."""
        stored: Object = self.world.get(FLEET)["status"]
        return stored

    def reasons(self) -> dict[str, str]:
        """Return the reasons of the fleet's conditions by type."""
        return {one["type"]: one["reason"] for one in self.status["conditions"]}

    def message(self, type_: str) -> str:
        """Return the message of one of the fleet's conditions."""
        return next(str(one["message"]) for one in self.status["conditions"] if one["type"] == type_)
