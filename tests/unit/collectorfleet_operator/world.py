"""A Kubernetes small enough to hold in one hand: it carries out plans, makes pods, and is seen through the cache.

What a test needs of the real one (garbage collection, KubeRay, the Job controller) happens when the test says so.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.manifests import manifest

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import Condition, OperatorStatus
from collectorfleet_operator.children.collectors_job import INDEX_LABEL
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.group_sizes import worker_groups
from collectorfleet_operator.children.lease import LEASE
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.pod_template import POD, PodRole
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.children.table import LISTED
from collectorfleet_operator.children.worker_group import GROUP_LABEL
from collectorfleet_operator.decide.actions import Action, Create, CreateSecret, Delete, SetStatus, Update
from collectorfleet_operator.decide.driver_lost import LOST_AFTER, is_driver_lost
from collectorfleet_operator.decide.plan import Plan, plan
from collectorfleet_operator.decide.situation import Situation
from collectorfleet_operator.decide.status import status
from collectorfleet_operator.edge.cache import Cache
from collectorfleet_operator.edge.observe import observe
from collectorfleet_operator.edge.readings import Readings
from collectorfleet_operator.edge.ticks import TICK_SECONDS
from collectorfleet_operator.objects import Key, Kind, Object, label, metadata, name_of, namespace_of, uid_of

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)
NAME = "cheetah"
KEY = Key("default", NAME)
DRIVER = Key("default", f"{NAME}-driver")
COLLECTORS = Key("default", f"{NAME}-collectors")
KINDS = {(kind.group, kind.kind): kind for kind in LISTED}
# Longer than a Lease may be quiet.
LONG_SECONDS = 600.0
CONTAINERS = {"head": "ray-head", "worker": "ray-worker", "driver": "driver"}


def kind_of(obj: Object) -> Kind:
    return KINDS[obj["apiVersion"].rpartition("/")[0], obj["kind"]]


class RecordedCache(Cache):
    """A cache that has pods as they are stored, too; the operator's keeps facts of them alone."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self.pods: dict[Key, Object] = {}

    def put(self, kind: Kind, obj: Object) -> set[Key]:
        if kind == POD:
            self.pods[Key(namespace_of(obj), name_of(obj))] = copy.deepcopy(obj)
        return super().put(kind, obj)


class World:
    """One fleet and everything that belongs to it. ``seconds`` is the operator's clock."""

    def __init__(self, changes: dict[str, Any] | None = None) -> None:
        self.seconds = 0.0
        self._listed_at = 0.0
        self.flavors: dict[str, Object] = {}  # Kueue's, by name
        self.secrets: set[str] = set()  # by name; nobody reads them
        self.cache = RecordedCache(lambda: self._listed_at)
        self._readings = Readings()
        self._numbers = itertools.count(1)
        fleet = manifest(changes, NAME)
        fleet["metadata"] |= {"namespace": KEY.namespace, "uid": "fleet-1", "generation": 1}
        self.store(fleet)

    def store(self, obj: Object) -> Object:
        obj = self.written(obj)
        self.cache.put(kind_of(obj), obj)
        return obj

    def written(self, obj: Object) -> Object:
        """As the API server would answer to who writes it; no news of it have come."""
        obj = copy.deepcopy(obj)
        kept = metadata(obj)
        kept["resourceVersion"] = str(next(self._numbers))
        kept.setdefault("uid", f"{obj['kind']}-{kept['resourceVersion']}".lower())
        kept.setdefault("creationTimestamp", _time(self.now))
        return obj

    def get(self, kind: Kind, key: Key = KEY) -> Object:
        assert self.cache.uid(kind, key) is not None, f"no {kind} {key}"
        found = self.cache.pods.get(key) if kind == POD else self.cache.get(kind, key)
        assert found is not None, f"no {kind} {key}"
        return copy.deepcopy(found)

    def edit(self, changes: dict[str, Any]) -> None:
        """Change the fleet's spec, as kubectl apply would."""
        fleet = self.get(FLEET)
        fleet["spec"] = manifest(changes, NAME)["spec"]
        fleet["metadata"]["generation"] += 1
        self.store(fleet)

    def replace_fleet(self) -> None:
        """Delete the fleet and make one of the same name, before anything of the old one is collected."""
        fleet = self.get(FLEET)
        fleet["metadata"] |= {"uid": "fleet-2", "generation": 1}
        fleet.pop("status", None)
        self.store(fleet)

    def _list_leases(self) -> None:
        """As often as the operator does, up to now, but of days only the end."""
        while True:
            leases = [lease for lease in [self.cache.get(LEASE, DRIVER)] if lease is not None]
            self.cache.replace(LEASE, None, leases, str(next(self._numbers)))
            if self._listed_at >= self.seconds:
                return
            self._listed_at = min(max(self._listed_at + TICK_SECONDS, self.seconds - LONG_SECONDS), self.seconds)

    def seen(self, **known: Any) -> Situation:
        self._list_leases()
        stored = self.get(FLEET)
        found = self._readings.read(stored, lambda: self.cache.get(JOB, DRIVER))
        assert found is not None, "the fleet cannot be read, and nothing of it runs"
        fleet, wrong = found
        known = {"kuberay_installed": True, "flavors": self.flavors, "now": self.now, **known}
        return observe(self.cache, KEY, stored, fleet, wrong=wrong, readings=self._readings, **known)

    def restarted(self) -> World:
        """The same cluster, as an operator sees it that has just begun."""
        other = copy.copy(self)
        other._listed_at = other.seconds
        other.cache = RecordedCache(lambda: other._listed_at)
        for kind, keys in self.cache._objects.items():
            for key in keys:
                other.cache.put(kind, self.get(kind, key))
        return other

    @property
    def now(self) -> datetime:
        return later(self.seconds)

    def plan(self, **known: Any) -> Plan:
        return plan(self.seen(**known))

    def until_told(self) -> timedelta | None:
        """How long until the fleet is looked at if nothing happens: its deadline, or a list finds its driver lost."""
        waits = [self.plan().again_after]
        quiet = self.seen().lease_unchanged_for
        if quiet is not None and not is_driver_lost(quiet):
            waits.append(LOST_AFTER - quiet)
        return min((wait for wait in waits if wait is not None), default=None)

    def carry_out(self, **known: Any) -> Sequence[Action]:
        """Do what the plan says; returns it."""
        actions = self.plan(**known).actions
        for action in actions:
            match action:
                case Create(_, made):
                    self.store(made)
                case CreateSecret(_, made):
                    self.secrets.add(name_of(made))
                case Update(kind, made, uid):
                    stored = self.get(kind, Key(KEY.namespace, name_of(made)))
                    assert uid_of(stored) == uid
                    self.store({**stored, **made, "metadata": {**stored["metadata"], **made["metadata"]}})
                case SetStatus(kind, seen, changed):
                    stored = self.get(kind, Key(KEY.namespace, name_of(seen)))
                    self.store({**stored, "status": {**stored["status"], **changed}})
                case Delete():
                    self._delete(action)
        return actions

    def _delete(self, action: Delete) -> None:
        """It is gone at once, or deprived of its grace where a finalizer keeps it."""
        stored = self.get(action.kind, Key(KEY.namespace, action.name))
        if not metadata(stored).get("finalizers"):
            self.cache.remove(action.kind, stored)
            return
        metadata(stored).setdefault("deletionTimestamp", _time(self.now))
        metadata(stored).update({"deletionGracePeriodSeconds": 0} if action.at_once else {})
        self.store(stored)

    def make_pods(self) -> None:
        """What KubeRay and the Job controller do."""
        cluster, job = self.cache.get(RAYCLUSTER, KEY), self.cache.get(JOB, DRIVER)
        collectors = self.cache.get(JOB, COLLECTORS)
        if cluster is not None:
            spec = cluster["spec"]
            if not self.pods("head"):
                self._pod("head", cluster, spec["headGroupSpec"]["template"])
            for group in worker_groups(cluster).values():
                self._resize(cluster, group)
        if collectors is not None:
            self._replace(collectors)
        if job is not None and not self.pods("driver"):
            self._pod("driver", job, job["spec"]["template"])

    def _replace(self, job: Object) -> None:
        """A pod for each index that has none; those that failed stay."""
        left = {label(pod, INDEX_LABEL): pod for pod in self.pods("worker") if pod["status"].get("phase") != "Failed"}
        for index in map(str, range(job["spec"]["completions"])):
            if left.pop(index, None) is None:
                self._pod("worker", job, job["spec"]["template"], {INDEX_LABEL: index})
        self.collect(*left.values())

    def _resize(self, cluster: Object, group: Object) -> None:
        role = label(group["template"], names.ROLE_LABEL) or ""

        def workers() -> list[Object]:
            return [pod for pod in self.pods(role) if label(pod, GROUP_LABEL) == group["groupName"]]

        for name in group.get("scaleStrategy", {}).get("workersToDelete", []):
            self.collect(*(pod for pod in workers() if name_of(pod) == name))
        for _ in range(group["replicas"] - len(workers())):
            self._pod(role, cluster, group["template"], {GROUP_LABEL: group["groupName"]})
        self.collect(*workers()[group["replicas"] :])

    def _pod(self, role: str, owner: Object, template: Object, labels: Mapping[str, str] | None = None) -> None:
        name = f"{NAME}-{role}-{next(self._numbers)}"
        reference = {"kind": owner["kind"], "name": name_of(owner), "uid": uid_of(owner), "controller": True}
        self.store(
            {
                "apiVersion": POD.api_version,
                "kind": POD.kind,
                "metadata": {
                    "name": name,
                    "namespace": KEY.namespace,
                    "labels": {**template["metadata"]["labels"], **(labels or {})},
                    "ownerReferences": [reference],
                },
                "spec": template["spec"],
                "status": {"phase": "Pending"},
            }
        )

    def pods(self, role: str) -> list[Object]:
        """Return the pods that the operator sees, in the order of their names."""
        return [pod for pod in self.all_pods() if label(pod, names.ROLE_LABEL) == PodRole(role)]

    def all_pods(self) -> list[Object]:
        return [self.get(POD, Key(KEY.namespace, pod.name)) for pod in self.cache.pods_of(KEY)]

    def collect(self, *objects: Object) -> None:
        """What the garbage collector does."""
        for obj in objects:
            # An end has a version, too.
            self.cache.remove(kind_of(obj), self.written(obj))

    def run_pods(self, *roles: str) -> None:
        """Let the pods of these roles be ready."""
        for role in roles:
            for pod in self.pods(role):
                ready = {"type": "Ready", "status": "True"}
                self.set_pod(pod, phase="Running", conditions=[ready])

    def set_pod(self, pod: Object, **pod_status: Any) -> None:
        self.store({**pod, "status": pod_status})

    def hold_up(self, role: str, reason: str, message: str) -> None:
        """Let the containers of these pods wait."""
        for pod in self.pods(role):
            state = {"waiting": {"reason": reason, "message": message}}
            self.set_pod(pod, phase="Pending", containerStatuses=[{"name": CONTAINERS[role], "state": state}])

    def end_driver(self, code: int, message: str = "", reason: str = "Error") -> None:
        """Let the newest driver pod end."""
        pod = max(self.pods("driver"), key=lambda one: str(metadata(one)["creationTimestamp"]))
        state = {"terminated": {"exitCode": code, "reason": reason, "message": message}}
        phase = "Failed" if code else "Succeeded"
        self.set_pod(pod, phase=phase, containerStatuses=[{"name": "driver", "state": state}])

    def end_code(self, pod: Object, code: int, message: str) -> None:
        """Let the container end that unpacks the code of a pod."""
        state = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed", "message": message}}
        phase = "Failed" if code else "Pending"
        self.set_pod(pod, phase=phase, initContainerStatuses=[{"name": names.CODE_CONTAINER, "state": state}])

    def end_job(self, how: str, **job_status: Any) -> None:
        job = self.get(JOB, DRIVER)
        condition = {"type": how, "status": "True", "lastTransitionTime": _time(NOON), "message": f"Job is {how}"}
        self.store({**job, "status": {"conditions": [condition], **job_status}})

    def report(self, available: int, *, desired: int | None = None, at: datetime = NOON, **override: Any) -> None:
        """What the driver writes into the status, at ``at`` by the API server's clock."""
        fleet = self.get(FLEET)
        wanted = fleet["spec"]["collectors"]["replicas"] if desired is None else desired
        said = {
            "fleetUID": fleet["metadata"]["uid"],
            "driverIncarnation": 1,
            "weights": {"published": 3, "acknowledged": 3},
            "progress": {
                "batches": 3,
                "framesDelivered": 12000,
                "lastBatchTime": _time(at),
                "collectors": {"desired": wanted, "available": available, "summary": f"{available}/{wanted}"},
            },
            **override,
        }
        fleet["status"] = {**fleet.get("status", {}), **said}
        writer = {"manager": names.DRIVER_MANAGER, "time": _time(at)}
        fleet["metadata"]["managedFields"] = [writer]
        self.store(fleet)

    def renew_lease(self, holder: str | None = None) -> None:
        self._list_leases()
        lease = self.get(LEASE, DRIVER)
        name = holder or name_of(self.pods("driver")[0])
        lease["spec"] = {"holderIdentity": name, "renewTime": f"{self.seconds}"}
        self.store(lease)

    def give_lease_back(self) -> None:
        lease = self.get(LEASE, DRIVER)
        lease["spec"] = {key: said for key, said in lease["spec"].items() if key not in ("holderIdentity", "renewTime")}
        metadata(lease)["managedFields"] = [{"manager": names.DRIVER_MANAGER, "time": _time(self.now)}]
        self.store(lease)

    def look(self, now: datetime = NOON, **known: Any) -> OperatorStatus:
        """The status of this moment, written into the fleet as the operator would."""
        new = status(replace(self.seen(**known), now=now))
        fleet = self.get(FLEET)
        fleet["status"] = {**fleet.get("status", {}), **new.to_wire()}
        self.store(fleet)
        return new

    def start(self) -> None:
        """Up to where all pods run and all collectors are available."""
        self.carry_out()
        self.make_pods()
        self.run_pods("head", "worker", "learner", "evaluator", "driver")
        self.renew_lease()
        self.report(self.get(FLEET)["spec"]["collectors"]["replicas"])


def started(changes: dict[str, Any] | None = None) -> World:
    """All children and pods are made, none runs."""
    world = World(changes)
    world.carry_out()
    world.make_pods()
    return world


def running(changes: dict[str, Any] | None = None) -> World:
    """All pods run, and all collectors are available."""
    world = World(changes)
    world.start()
    return world


def condition(of: OperatorStatus | Sequence[Condition], type_: str) -> Condition:
    conditions = of.conditions if isinstance(of, OperatorStatus) else of
    return next(one for one in conditions if one.type == type_)


def told(of: OperatorStatus, type_: str) -> tuple[str, str, str]:
    """Status, reason and message of a condition."""
    found = condition(of, type_)
    return found.status.value, found.reason, found.message


def later(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def kinds(actions: Sequence[Action]) -> list[str]:
    """``["Create RayCluster", ...]``"""
    return [f"{type(one).__name__} {one.kind}" for one in actions]


def _time(of: datetime) -> str:
    return of.strftime("%Y-%m-%dT%H:%M:%SZ")
