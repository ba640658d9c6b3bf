"""A fleet with its objects and pods, without an API server. A test decides when each of them changes.

Import everything from this module. The base classes are in `stored.py` and `played_pods.py`.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from tests.manifests import manifest
from tests.unit.collectorfleet_operator.played_pods import PlayedPods
from tests.unit.collectorfleet_operator.stored import (
    COLLECTORS,
    DRIVER,
    KEY,
    NAME,
    NOON,
    RecordedCache,
    kind_of,
    later,
    wire_time,
)

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import Condition, OperatorStatus
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.lease import LEASE
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.decide.actions import Action, Create, CreateSecret, Delete, SetStatus, Update
from collectorfleet_operator.decide.driver_lost import LOST_AFTER, is_driver_lost
from collectorfleet_operator.decide.plan import Plan, plan
from collectorfleet_operator.decide.situation import Situation
from collectorfleet_operator.decide.status import status
from collectorfleet_operator.edge.observe import observe
from collectorfleet_operator.edge.readings import Readings
from collectorfleet_operator.edge.ticks import TICK_SECONDS
from collectorfleet_operator.objects import Key, Object, metadata, name_of, uid_of

__all__ = [
    "COLLECTORS",
    "DRIVER",
    "KEY",
    "NAME",
    "NOON",
    "World",
    "condition",
    "kind_of",
    "kinds",
    "later",
    "running",
    "started",
    "told",
    "wire_time",
]

# Longer than a Lease may be quiet.
LONG_SECONDS = 600.0


class World(PlayedPods):
    """One fleet with its children and pods, an operator that can carry out its plans, and a driver that reports."""

    def __init__(self, changes: dict[str, Any] | None = None) -> None:
        super().__init__()
        self.flavors: dict[str, Object] = {}  # Kueue's, by name
        self.secrets: set[str] = set()  # names
        self._readings = Readings()
        fleet = manifest(changes, NAME)
        fleet["metadata"] |= {"namespace": KEY.namespace, "uid": "fleet-1", "generation": 1}
        self.store(fleet)

    def edit(self, changes: dict[str, Any]) -> None:
        """Change the fleet's spec, as ``kubectl apply`` does."""
        fleet = self.get(FLEET)
        fleet["spec"] = manifest(changes, NAME)["spec"]
        fleet["metadata"]["generation"] += 1
        self.store(fleet)

    def replace_fleet(self) -> None:
        """Replace the fleet by one of the same name, before the old fleet's objects are collected."""
        fleet = self.get(FLEET)
        fleet["metadata"] |= {"uid": "fleet-2", "generation": 1}
        fleet.pop("status", None)
        self.store(fleet)

    def _list_leases(self) -> None:
        """List Leases up to now, as often as the operator does; of a long wait, only in its last minutes."""
        while True:
            leases = [lease for lease in [self.cache.get(LEASE, DRIVER)] if lease is not None]
            self.cache.replace(LEASE, None, leases, str(next(self._numbers)))
            if self._listed_at >= self.seconds:
                return
            self._listed_at = min(max(self._listed_at + TICK_SECONDS, self.seconds - LONG_SECONDS), self.seconds)

    def seen(self, **known: Any) -> Situation:
        """Return what the operator sees. ``known`` replaces arguments of :func:`observe`."""
        self._list_leases()
        stored = self.get(FLEET)
        found = self._readings.read(stored, lambda: self.cache.get(JOB, DRIVER))
        assert found is not None, "the fleet cannot be read, and nothing of it runs"
        fleet, wrong = found
        known = {"kuberay_installed": True, "flavors": self.flavors, "now": self.now, **known}
        return observe(self.cache, KEY, stored, fleet, wrong=wrong, readings=self._readings, **known)

    def restarted(self) -> World:
        """Return the same cluster, as a new operator sees it."""
        other = copy.copy(self)
        other._listed_at = other.seconds
        other.cache = RecordedCache(lambda: other._listed_at)
        for kind, keys in self.cache._objects.items():
            for key in keys:
                other.cache.put(kind, self.get(kind, key))
        return other

    def plan(self, **known: Any) -> Plan:
        return plan(self.seen(**known))

    def until_told(self) -> timedelta | None:
        """Return the time to the next reconcile if nothing happens: until a deadline, or until the driver is lost."""
        waits = [self.plan().again_after]
        quiet = self.seen().lease_unchanged_for
        if quiet is not None and not is_driver_lost(quiet):
            waits.append(LOST_AFTER - quiet)
        return min((wait for wait in waits if wait is not None), default=None)

    def carry_out(self, **known: Any) -> Sequence[Action]:
        """Carry out the plan. Return its actions."""
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
        """Delete an object at once. If it has a finalizer, only mark it as terminating."""
        stored = self.get(action.kind, Key(KEY.namespace, action.name))
        if not metadata(stored).get("finalizers"):
            self.cache.remove(action.kind, stored)
            return
        metadata(stored).setdefault("deletionTimestamp", wire_time(self.now))
        metadata(stored).update({"deletionGracePeriodSeconds": 0} if action.force else {})
        self.store(stored)

    def report(
        self,
        available: int,
        *,
        desired: int | None = None,
        at: datetime = NOON,
        last_batch: datetime | None = None,
        **override: Any,
    ) -> None:
        """Write a driver's report at the time ``at``; its last batch has the same time, or ``last_batch``.

        ``override`` replaces top-level fields of the status.
        """
        fleet = self.get(FLEET)
        wanted = fleet["spec"]["collectors"]["replicas"] if desired is None else desired
        said = {
            "fleetUID": fleet["metadata"]["uid"],
            "driverIncarnation": 1,
            "weights": {"published": 3, "acknowledged": 3},
            "progress": {
                "batches": 3,
                "framesDelivered": 12000,
                "lastBatchTime": wire_time(last_batch or at),
                "collectors": {"desired": wanted, "available": available, "summary": f"{available}/{wanted}"},
            },
            **override,
        }
        fleet["status"] = {**fleet.get("status", {}), **said}
        writer = {"manager": names.DRIVER_MANAGER, "time": wire_time(at)}
        fleet["metadata"]["managedFields"] = [writer]
        self.store(fleet)

    def renew_lease(self, holder: str | None = None) -> None:
        """Let a driver renew its Lease: the first driver pod, or ``holder``."""
        self._list_leases()
        lease = self.get(LEASE, DRIVER)
        name = holder or name_of(self.pods("driver")[0])
        lease["spec"] = {"holderIdentity": name, "renewTime": f"{self.seconds}"}
        self.store(lease)

    def wait_until(self, seconds: float) -> None:
        """Let time pass until ``seconds`` after noon. The driver then renews its Lease."""
        self.seconds = seconds
        self.renew_lease()

    def give_lease_back(self) -> None:
        """Let the driver release its Lease."""
        lease = self.get(LEASE, DRIVER)
        lease["spec"] = {key: said for key, said in lease["spec"].items() if key not in ("holderIdentity", "renewTime")}
        metadata(lease)["managedFields"] = [{"manager": names.DRIVER_MANAGER, "time": wire_time(self.now)}]
        self.store(lease)

    def look(self, now: datetime = NOON, **known: Any) -> OperatorStatus:
        """Write the status of the time ``now`` into the fleet, as the operator does. Return this status."""
        new = status(replace(self.seen(**known), now=now))
        fleet = self.get(FLEET)
        fleet["status"] = {**fleet.get("status", {}), **new.to_wire()}
        self.store(fleet)
        return new

    def start(self) -> None:
        """Carry out the plan, run all pods and make all collectors available."""
        self.carry_out()
        self.make_pods()
        self.run_pods("head", "worker", "learner", "evaluator", "driver")
        self.renew_lease()
        self.report(self.get(FLEET)["spec"]["collectors"]["replicas"])


def started(changes: dict[str, Any] | None = None) -> World:
    """Return a fleet with all children and pods, of which none runs."""
    world = World(changes)
    world.carry_out()
    world.make_pods()
    return world


def running(changes: dict[str, Any] | None = None) -> World:
    """Return a fleet whose pods run and whose collectors are available."""
    world = World(changes)
    world.start()
    return world


def condition(of: OperatorStatus | Sequence[Condition], type_: str) -> Condition:
    conditions = of.conditions if isinstance(of, OperatorStatus) else of
    return next(one for one in conditions if one.type == type_)


def told(of: OperatorStatus, type_: str) -> tuple[str, str, str]:
    """Return status, reason and message of a condition."""
    found = condition(of, type_)
    return found.status.value, found.reason, found.message


def kinds(actions: Sequence[Action]) -> list[str]:
    """Return the actions as text: ``["Create RayCluster", ...]``."""
    return [f"{type(one).__name__} {one.kind}" for one in actions]
