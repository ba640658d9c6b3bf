"""The objects that a test's API server stores, as the operator's cache has them."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from collectorfleet_api import names
from collectorfleet_operator.children.pod_template import POD, PodRole
from collectorfleet_operator.children.table import LISTED
from collectorfleet_operator.edge.cache import Cache
from collectorfleet_operator.objects import Key, Kind, Object, label, metadata, name_of, namespace_of

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)
NAME = "cheetah"
KEY = Key("default", NAME)
DRIVER = Key("default", f"{NAME}-driver")
COLLECTORS = Key("default", f"{NAME}-collectors")
KINDS = {(kind.group, kind.kind): kind for kind in LISTED}


def later(seconds: float) -> datetime:
    """Return the time ``seconds`` after noon."""
    return NOON + timedelta(seconds=seconds)


def wire_time(of: datetime) -> str:
    """Return a time as Kubernetes writes it."""
    return of.strftime("%Y-%m-%dT%H:%M:%SZ")


def kind_of(obj: Object) -> Kind:
    return KINDS[obj["apiVersion"].rpartition("/")[0], obj["kind"]]


def copied(obj: Object) -> Object:
    """Return a copy of a JSON object. ``copy.deepcopy`` takes several times as long."""
    found: Object = pickle.loads(pickle.dumps(obj, pickle.HIGHEST_PROTOCOL))
    return found


class RecordedCache(Cache):
    """A cache that also has whole pods. The operator's own cache keeps only facts of pods."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self.pods: dict[Key, Object] = {}

    def put(self, kind: Kind, obj: Object) -> set[Key]:
        if kind == POD:
            self.pods[Key(namespace_of(obj), name_of(obj))] = copied(obj)
        return super().put(kind, obj)


class Stored:
    """The objects of one fleet. ``seconds`` after noon is the present time, for the operator and the API server."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._listed_at = 0.0  # when Leases were last listed
        self.cache = RecordedCache(lambda: self._listed_at)
        self._numbers = itertools.count(1)

    @property
    def now(self) -> datetime:
        return later(self.seconds)

    def store(self, obj: Object) -> Object:
        """Write an object, and put it into the cache."""
        obj = self.written(obj)
        self.cache.put(kind_of(obj), obj)
        return obj

    def written(self, obj: Object) -> Object:
        """Return an object as the API server answers to a write. The cache does not change."""
        obj = copied(obj)
        kept = metadata(obj)
        kept["resourceVersion"] = str(next(self._numbers))
        kept.setdefault("uid", f"{obj['kind']}-{kept['resourceVersion']}".lower())
        kept.setdefault("creationTimestamp", wire_time(self.now))
        return obj

    def get(self, kind: Kind, key: Key = KEY) -> Object:
        """Return a copy of an object."""
        assert self.cache.uid(kind, key) is not None, f"no {kind} {key}"
        found = self.cache.pods.get(key) if kind == POD else self.cache.get(kind, key)
        assert found is not None, f"no {kind} {key}"
        return copied(found)

    def collect(self, *objects: Object) -> None:
        """Remove objects, as the garbage collector does."""
        for obj in objects:
            # A deletion has a resource version, too.
            self.cache.remove(kind_of(obj), self.written(obj))

    def pods(self, role: str) -> list[Object]:
        """Return the pods of one role that the operator sees, in the order of their names."""
        return [pod for pod in self.all_pods() if label(pod, names.ROLE_LABEL) == PodRole(role)]

    def all_pods(self) -> list[Object]:
        """Return the pods that the operator sees."""
        return [self.get(POD, Key(KEY.namespace, pod.name)) for pod in self.cache.pods_of(KEY)]
