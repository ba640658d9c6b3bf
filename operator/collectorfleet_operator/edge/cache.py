"""The cache of the API server's objects, updated by watches, by lists, and by the answers to the operator's writes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Final, TypeVar

from collectorfleet_api import names
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.lease import LEASE
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.pod_template import POD
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.children.workload import WORKLOAD
from collectorfleet_operator.decide.job import Job, read_job
from collectorfleet_operator.decide.lease import Lease, read_lease
from collectorfleet_operator.decide.pod import Pod, read_pod
from collectorfleet_operator.decide.raycluster import RayCluster, read_raycluster
from collectorfleet_operator.decide.routine import without_routine_numbers
from collectorfleet_operator.decide.workload import Workload, read_workload
from collectorfleet_operator.edge.readable import stand_in
from collectorfleet_operator.edge.renewals import Renewals
from collectorfleet_operator.edge.summary import Summary, summary
from collectorfleet_operator.edge.trimmed import trimmed
from collectorfleet_operator.objects import Key, Kind, Object, label, metadata, name_of, namespace_of, uid_of

_Facts = Pod | Workload | Lease | Job | RayCluster
# The kinds whose facts are parsed once from each version.
_READ: Final[Mapping[Kind, Callable[[Object], _Facts]]] = {
    POD: read_pod,
    JOB: read_job,
    RAYCLUSTER: read_raycluster,
    WORKLOAD: read_workload,
    LEASE: read_lease,
}
_KIND_OF: Final[Mapping[type, Kind]] = {Job: JOB, RayCluster: RAYCLUSTER, Workload: WORKLOAD, Lease: LEASE}
_F = TypeVar("_F", Workload, Lease, Job, RayCluster)


@dataclass(frozen=True, slots=True)
class _Stored:
    """An object as text.

    The text needs a fraction of a decoded object's memory, and the garbage collector does not traverse the text.

    ``relevant_hash`` covers the parts of a fleet on which decisions depend. ``facts`` are parsed once from each
    version. For a pod the cache keeps only the facts, and ``text`` is a digest that distinguishes the versions of the
    pod. A fleet may have 10,000 pods, and decoding all of them takes 250 ms.
    """

    uid: str
    version: int
    text: bytes
    relevant_hash: int
    facts: _Facts | None = None


@dataclass(frozen=True, slots=True)
class _Gone:
    """A removed object, with the version of its removal.

    A list that began before the removal may still contain the object. A newer version shows that the object still
    exists, and had only lost its label for a while. ``by_us``: this process deleted the object, so the version of its
    removal is unknown. The cache then ignores all versions of the object.
    """

    namespace: str
    version: int
    by_us: bool


class Cache:
    """Objects by kind and fleet. An older version never replaces a newer version.

    Updates from several sources may arrive out of order. Every method that records an update returns the fleets to
    reconcile. :func:`trimmed` keeps the parts of an object that the operator reads. An update of other parts, or a
    routine report of a healthy driver, triggers no reconcile.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._objects: dict[Kind, dict[Key, _Stored]] = {}
        self._summaries: dict[Key, Summary] = {}
        self._fleet_of: dict[tuple[Kind, Key], Key] = {}
        self._of_fleet: dict[tuple[Kind, Key], set[Key]] = {}
        self._pods: dict[Key, Sequence[Pod]] = {}  # by fleet, cached until one of the fleet's pods changes
        self._renewals = Renewals(clock)
        self._gone: dict[Kind, dict[str, _Gone]] = {}  # by uid

    def fleets(self) -> list[Key]:
        return list(self._summaries)

    def summaries(self) -> dict[Key, Summary]:
        """Return the summary of each fleet."""
        return dict(self._summaries)

    def get(self, kind: Kind, key: Key) -> Object | None:
        """Return a copy of the object, or None. For pods use :meth:`pods_of`, because only their facts are kept."""
        stored = self._stored(kind, key)
        return None if stored is None else _read(stored)

    def uid(self, kind: Kind, key: Key) -> str | None:
        stored = self._stored(kind, key)
        return None if stored is None else stored.uid

    def pods_of(self, fleet: Key) -> Sequence[Pod]:
        """Return the pods with the fleet's label, sorted by name."""
        found = self._pods.get(fleet)
        if found is None:
            there = self._objects.get(POD, {})
            pods = [there[key].facts for key in self._of_fleet.get((POD, fleet), ())]
            found = self._pods[fleet] = sorted((pod for pod in pods if isinstance(pod, Pod)), key=attrgetter("name"))
        return found

    def facts(self, of: type[_F], key: Key) -> _F | None:
        """Return the facts of one object. ``of`` is the type of the facts."""
        stored = self._stored(_KIND_OF[of], key)
        return stored.facts if stored is not None and isinstance(stored.facts, of) else None

    def keys_of_fleet(self, kind: Kind, fleet: Key) -> list[Key]:
        return sorted(self._of_fleet.get((kind, fleet), set()))

    def unchanged_for(self, lease: Key) -> timedelta | None:
        """Return how long the lists have shown the Lease without a change, or None if the Lease never had a holder."""
        return self._renewals.unchanged_for(lease)

    def driver_clock_ahead(self, lease: Key) -> timedelta:
        """Return how far the clock of the Lease's holder is ahead of the API server's clock."""
        return self._renewals.clock_ahead(lease)

    def unheld_since(self, lease: Key) -> datetime | None:
        """Return the time from which the Lease has no holder, by the API server's clock, or None while it is held."""
        return self._renewals.unheld_since(lease)

    def leases_unchanged(self, longer_than: Callable[[timedelta], bool]) -> list[tuple[Key, Key]]:
        """Return pairs of fleet and Lease. Each Lease has been unchanged for a time that satisfies ``longer_than``.

        Leases that never had a holder are left out.
        """
        found = self._renewals.unchanged(longer_than)
        return [(fleet, lease) for lease in found if (fleet := self._fleet_of.get((LEASE, lease)))]

    def put(self, kind: Kind, obj: Object) -> set[Key]:
        """Record an update of an object. If the object cannot be read, store a stand-in with the reason."""
        try:
            return self._put(kind, obj)
        except Exception as error:  # noqa: BLE001  (one tenant's malformed object must not affect other tenants)
            return self._put(kind, stand_in(kind, obj, error))

    def _put(self, kind: Kind, obj: Object) -> set[Key]:
        key, version = Key(namespace_of(obj), name_of(obj)), _version(obj)
        stored, gone = self._stored(kind, key), self._gone.get(kind, {}).get(uid_of(obj))
        if gone is not None and (gone.by_us or version <= gone.version):
            return set()
        if stored is not None and version <= stored.version:
            return set()
        if kind == LEASE:
            self._renewals.note(key, obj)
        kept = trimmed(kind, obj)
        text = _text(kept) if kind != POD else hashlib.blake2b(_text(kept)).digest()
        if stored is not None and stored.text == text:
            self._objects[kind][key] = replace(stored, version=version)
            return set()
        # Everything that can fail for a malformed object comes before the first change of the cache.
        relevant_hash = hash(_text(without_routine_numbers(kept))) if kind == FLEET else hash(text)
        new = _Stored(uid_of(obj), version, text, relevant_hash, _READ[kind](kept) if kind in _READ else None)
        new_summary = summary(obj) if kind == FLEET else None
        fleet = _fleet_by_label(kind, key, obj)
        self._objects.setdefault(kind, {})[key] = new
        if stored is not None and stored.relevant_hash == new.relevant_hash:
            return set()
        if new_summary is not None:
            self._summaries[key] = new_summary
        return self._index(kind, key, fleet)

    def remove(self, kind: Kind, obj: Object, *, by_us: bool = False) -> set[Key]:
        """Record the removal of an object.

        ``by_us``: this process deleted the object, and ``obj`` is its last known version.
        """
        key = Key(namespace_of(obj), name_of(obj))
        stored = self._stored(kind, key)
        if stored is not None and stored.uid == uid_of(obj) and stored.version > _version(obj):
            return set()  # the object had only lost its label, and has the label again
        self._gone.setdefault(kind, {})[uid_of(obj)] = _Gone(key.namespace, _version(obj), by_us)
        if stored is None or stored.uid != uid_of(obj):
            return set()
        return self._drop(kind, key)

    def relist(self, kind: Kind, namespace: str | None) -> Relist:
        """Begin to record a complete list of one namespace, or of all namespaces. Call this before the request."""
        if kind == LEASE:
            self._renewals.listing()
        return Relist(self, kind, namespace)

    def replace(self, kind: Kind, namespace: str | None, objects: Iterable[Object], resource_version: str) -> set[Key]:
        """Record a complete list of one namespace, or of all namespaces, and return the fleets to reconcile."""
        taken = self.relist(kind, namespace)
        concerned = {key for obj in objects for key in taken.put(obj)}
        return concerned | taken.complete(resource_version)

    def _complete(self, kind: Kind, namespace: str | None, listed: set[Key], version: int) -> set[Key]:
        if kind == LEASE:
            self._renewals.listed()
        concerned: set[Key] = set()
        for key in [
            key
            for key, stored in self._objects.get(kind, {}).items()
            if key not in listed and namespace in (None, key.namespace) and stored.version <= version
        ]:
            concerned |= self._drop(kind, key)
        # No later list has the objects that were removed before this list, so the cache forgets these removals.
        gone = self._gone.get(kind, {})
        for uid in [uid for uid, one in gone.items() if namespace in (None, one.namespace) and one.version <= version]:
            del gone[uid]
        return concerned

    def _stored(self, kind: Kind, key: Key) -> _Stored | None:
        return self._objects.get(kind, {}).get(key)

    def _index(self, kind: Kind, key: Key, fleet: Key | None) -> set[Key]:
        before = self._fleet_of.get((kind, key))
        if before != fleet:
            if before is not None:
                self._leave(kind, key, before)
            if fleet is not None:
                self._fleet_of[kind, key] = fleet
                self._of_fleet.setdefault((kind, fleet), set()).add(key)
        if kind == POD and fleet is not None:
            self._pods.pop(fleet, None)
        return {one for one in (before, fleet) if one is not None}

    def _drop(self, kind: Kind, key: Key) -> set[Key]:
        self._objects[kind].pop(key)
        if kind == FLEET:
            self._summaries.pop(key, None)
        elif kind == LEASE:
            self._renewals.forget(key)
        fleet = self._fleet_of.get((kind, key))
        if fleet is None:
            return set()
        self._leave(kind, key, fleet)
        return {fleet}

    def _leave(self, kind: Kind, key: Key, fleet: Key) -> None:
        del self._fleet_of[kind, key]
        if kind == POD:
            self._pods.pop(fleet, None)
        left = self._of_fleet[kind, fleet]
        left.discard(key)
        if not left:
            del self._of_fleet[kind, fleet]


class Relist:
    """A complete list that the cache records object by object, while other updates arrive."""

    def __init__(self, cache: Cache, kind: Kind, namespace: str | None) -> None:
        self._cache = cache
        self._kind = kind
        self._namespace = namespace
        self._listed: set[Key] = set()

    def put(self, obj: Object) -> set[Key]:
        self._listed.add(Key(namespace_of(obj), name_of(obj)))
        return self._cache.put(self._kind, obj)

    def keep(self, key: Key) -> None:
        """Note that an object is in the list and unchanged since the previous list."""
        self._listed.add(key)

    def complete(self, resource_version: str) -> set[Key]:
        """Remove the objects that the list at ``resource_version`` lacks. Return their fleets. Keep newer objects."""
        return self._cache._complete(self._kind, self._namespace, self._listed, int(resource_version))


def _fleet_by_label(kind: Kind, key: Key, obj: Object) -> Key | None:
    name = key.name if kind == FLEET else label(obj, names.FLEET_LABEL)
    if not isinstance(name, str | None):
        raise TypeError(f"label {names.FLEET_LABEL} is not text")
    return Key(key.namespace, name) if name else None


def _text(obj: Object) -> bytes:
    return json.dumps(obj, separators=(",", ":"), sort_keys=True).encode()


def _read(stored: _Stored) -> Object:
    found: Object = json.loads(stored.text)
    found["metadata"]["resourceVersion"] = str(stored.version)
    return found


def _version(obj: Object) -> int:
    # Resource versions are numbers that increase across all objects of an API server. Kubernetes promises this since
    # 1.35.
    return int(metadata(obj)["resourceVersion"])
