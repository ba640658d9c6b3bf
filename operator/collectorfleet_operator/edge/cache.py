"""What this process last saw in the API server: fed by watches, by lists, and by the answers to its own writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Final

from collectorfleet_api import names
from collectorfleet_operator.children.lease import LEASE
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.edge.renewals import Renewals
from collectorfleet_operator.objects import Key, Kind, Object, label, metadata, name_of, namespace_of, uid_of

# The keys of `metadata` that nobody here reads and that make up most of a small object.
_UNREAD: Final = ("managedFields",)


class Cache:
    """Objects by kind and fleet. Older news never replaces newer: the three sources overtake each other.

    Every method that takes news returns the fleets that it concerns.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._objects: dict[Kind, dict[Key, Object]] = {}
        self._fleet_of: dict[tuple[Kind, Key], Key] = {}
        self._of_fleet: dict[tuple[Kind, Key], set[Key]] = {}
        self._renewals = Renewals(clock)
        # By uid, its namespace and the version with which it went: a list that was under way meanwhile still has it.
        self._gone: dict[Kind, dict[str, tuple[str, int]]] = {}

    def fleets(self) -> list[Key]:
        return list(self._objects.get(FLEET, {}))

    def get(self, kind: Kind, key: Key) -> Object | None:
        return self._objects.get(kind, {}).get(key)

    def of_fleet(self, kind: Kind, fleet: Key) -> list[Object]:
        """Objects of a kind that carry the fleet's label, in the order of their names."""
        found = self._of_fleet.get((kind, fleet), set())
        return [self._objects[kind][key] for key in sorted(found)]

    def quiet_for(self, lease: Key) -> timedelta | None:
        """How long the Lease was listed and had not changed; None if nobody ever held it."""
        return self._renewals.quiet_for(lease)

    def put(self, kind: Kind, obj: Object) -> set[Key]:
        """Take news of an object."""
        key = Key(namespace_of(obj), name_of(obj))
        stored = self.get(kind, key)
        if uid_of(obj) in self._gone.get(kind, {}) or (stored is not None and not _newer(obj, stored)):
            return set()
        self._objects.setdefault(kind, {})[key] = _trimmed(kind, obj)
        concerned = self._index(kind, key, obj)
        if kind == LEASE:
            self._renewals.note(key, obj)
        return concerned

    def remove(self, kind: Kind, obj: Object) -> set[Key]:
        """Take news that an object is gone."""
        key = Key(namespace_of(obj), name_of(obj))
        stored = self.get(kind, key)
        self._gone.setdefault(kind, {})[uid_of(obj)] = (key.namespace, _version(obj))
        if stored is None or uid_of(stored) != uid_of(obj):
            return set()
        return self._drop(kind, key)

    def replace(self, kind: Kind, namespace: str | None, objects: Iterable[Object], resource_version: str) -> set[Key]:
        """Take a complete list of one namespace, or of all."""
        if kind == LEASE:
            self._renewals.listed()
        concerned: set[Key] = set()
        listed = set()
        for obj in objects:
            listed.add(Key(namespace_of(obj), name_of(obj)))
            concerned |= self.put(kind, obj)
        for key, stored in list(self._objects.get(kind, {}).items()):
            covered = namespace in (None, key.namespace)
            if covered and key not in listed and _version(stored) <= int(resource_version):
                concerned |= self._drop(kind, key)
        # What went before this list was taken comes in no later one.
        gone = self._gone.get(kind, {})
        for uid in [
            uid for uid, (where, at) in gone.items() if namespace in (None, where) and at <= int(resource_version)
        ]:
            del gone[uid]
        return concerned

    def _index(self, kind: Kind, key: Key, obj: Object) -> set[Key]:
        name = key.name if kind == FLEET else label(obj, names.FLEET_LABEL)
        concerned = {Key(key.namespace, name)} if name else set()
        before = self._fleet_of.pop((kind, key), None)
        if before is not None:
            self._of_fleet[kind, before].discard(key)
            concerned.add(before)
        if name:
            fleet = Key(key.namespace, name)
            self._fleet_of[kind, key] = fleet
            self._of_fleet.setdefault((kind, fleet), set()).add(key)
        return concerned

    def _drop(self, kind: Kind, key: Key) -> set[Key]:
        self._objects[kind].pop(key)
        fleet = self._fleet_of.pop((kind, key), None)
        if kind == LEASE:
            self._renewals.forget(key)
        if fleet is None:
            return set()
        left = self._of_fleet[kind, fleet]
        left.discard(key)
        if not left:
            del self._of_fleet[kind, fleet]
        return {fleet}


def _version(obj: Object) -> int:
    # Versions of one API server are numbers that grow over all objects; Kubernetes promises this since 1.35.
    return int(metadata(obj)["resourceVersion"])


def _newer(obj: Object, stored: Object) -> bool:
    return _version(obj) > _version(stored)


def _trimmed(kind: Kind, obj: Object) -> Object:
    """The object without what nobody here reads; of a fleet, who wrote when remains."""
    kept = {key: value for key, value in metadata(obj).items() if key not in _UNREAD}
    if kind == FLEET:
        writers = metadata(obj).get("managedFields") or []
        kept["managedFields"] = [{k: v for k, v in writer.items() if k != "fieldsV1"} for writer in writers]
    return {"apiVersion": kind.api_version, "kind": kind.kind, **obj, "metadata": kept}
