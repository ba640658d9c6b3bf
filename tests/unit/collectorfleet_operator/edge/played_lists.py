"""Lists of an API server that a test can refuse or break off, and a resync that reads these lists."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

from tests.unit.collectorfleet_operator.world import DRIVER, KEY, NOON, World, later, running, wire_time

from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.decide.events import EVENT
from collectorfleet_operator.edge.cache import Cache
from collectorfleet_operator.edge.errors import RefusedError, UnavailableError
from collectorfleet_operator.edge.freshness import Freshness
from collectorfleet_operator.edge.listing import Listing, Unchanged
from collectorfleet_operator.edge.resync import Resync
from collectorfleet_operator.objects import Key, Kind, Object, metadata


class PlayedLists:
    """Lists the objects of a world. An object counts as changed if its text differs."""

    def __init__(self, world: World) -> None:
        self.objects = {
            (kind, key): world.get(kind, key) for kind, keys in world.cache._objects.items() for key in keys
        }
        self.events: list[Object] = []
        self.refused: set[Kind] = set()
        self.refused_in: set[tuple[Kind, str | None]] = set()
        self.unanswered: set[Kind] = set()
        self.breaks_off: set[Kind] = set()  # after the first item
        self.code_changed_at = "2026-07-01T12:00:00Z"
        self.found_names: list[str] = []  # of objects that were read by name
        self.unreadable: set[str] = set()  # names of ConfigMaps
        self.kueue: frozenset[str] | None = frozenset()  # served versions; None: refused
        self.version = 1000

    def in_versions(self, _: Mapping[str, str]) -> PlayedLists:
        return self

    async def versions(self, group: str) -> frozenset[str]:
        if self.kueue is None:
            raise RefusedError(f"get the versions of {group}", "forbidden")
        return self.kueue

    async def list(
        self, kind: Kind, namespace: str | None, into: Listing, **options: Any
    ) -> AsyncIterator[Object | Unchanged]:
        if kind in self.refused or (kind, namespace) in self.refused_in:
            raise RefusedError(f"list {kind}", "forbidden")
        if kind in self.unanswered:
            raise UnavailableError(f"list {kind}", "no answer")
        if kind == EVENT:
            for event in self.events if namespace == KEY.namespace else []:
                yield event
            return
        before = dict(into._before)  # type: ignore[arg-type]
        now = {
            key: repr(obj)
            for (of, key), obj in self.objects.items()
            if of == kind and (namespace is None or key.namespace == namespace)
        }
        for key, text in now.items():
            if before.get(key) == text:
                yield Unchanged(key)
            else:
                yield dict(self.objects[kind, key])
            if kind in self.breaks_off:
                raise UnavailableError(f"list {kind}", "it broke off")
        into._before = list(now.items())  # type: ignore[assignment]
        into.resource_version = str(self.version)

    async def find(self, kind: Kind, namespace: str, name: str) -> Object | None:
        self.found_names.append(name)
        if name in self.unreadable:
            raise UnavailableError(f"get {kind} {namespace}/{name}", "the answer is not an object")
        return {"metadata": {"managedFields": [{"time": self.code_changed_at}]}}

    def change(self, kind: Kind, key: Key, **fields: Any) -> None:
        """Replace fields of an object, with a new resource version."""
        self.version += 1
        obj = self.objects[kind, key]
        self.objects[kind, key] = {**obj, **fields, "metadata": {**metadata(obj), "resourceVersion": str(self.version)}}

    def relabel(self, kind: Kind, key: Key, labels: Mapping[str, str]) -> None:
        """Replace the labels of an object."""
        metadata(self.objects[kind, key])["labels"] = dict(labels)
        self.change(kind, key)

    def warning(self, kind: Kind = JOB, key: Key = DRIVER, *, seconds: float = 0.0) -> Object:
        """Return a warning Event about an object, last seen ``seconds`` after noon."""
        about = {"kind": kind.kind, "uid": metadata(self.objects[kind, key])["uid"]}
        last = wire_time(later(seconds))
        return {"involvedObject": about, "lastTimestamp": last, "reason": "FailedCreate"}


class PlayedResync:
    """The resync of a new operator. ``told`` has the fleets that it reports."""

    def __init__(
        self, world: World, clock: Callable[[], float] = lambda: 0.0, scopes: Sequence[str | None] = (None,)
    ) -> None:
        self.lists = PlayedLists(world)
        self.cache = Cache(clock)
        self.told: list[Key] = []
        freshness = Freshness(lambda: 0.0)
        self.resync = Resync(
            self.lists,  # type: ignore[arg-type]
            self.cache,
            freshness,
            scopes,
            lambda: NOON,
            self.told.extend,
        )

    def after(self, step: Callable[[], Awaitable[Any]]) -> set[Key]:
        """Return the fleets that this step reports."""
        self.told.clear()
        asyncio.run(step())  # type: ignore[arg-type]
        return set(self.told)

    def list_all(self) -> set[Key]:
        """List every kind. Return the fleets that the lists report."""

        async def every_kind() -> None:
            await self.resync.list_all()
            await self.resync.list_often()
            await self.resync.missing_kinds()

        return self.after(every_kind)

    def list_warnings(self) -> set[Key]:
        """List warnings. Return the fleets that they report."""
        return self.after(self.resync.list_warnings)

    def add_copy(self, kind: Kind, key: Key, **changes: Any) -> None:
        """Put a copy of a listed object into the cache. ``changes`` are fields of its metadata."""
        obj = self.lists.objects[kind, key]
        self.cache.put(kind, {**obj, "metadata": {**metadata(obj), "resourceVersion": "2000", **changes}})


def listed(world: World | None = None, clock: Callable[[], float] = lambda: 0.0) -> PlayedResync:
    """Return a resync that has listed every kind once; by default of a running fleet."""
    played = PlayedResync(world or running(), clock)
    assert played.list_all() == {KEY}
    return played
