"""A fleet in a queue of Kueue, and what Kueue writes into its Workload."""

from __future__ import annotations

from typing import Any

from tests.unit.collectorfleet_operator.world import NOON, World, kinds, wire_time

from collectorfleet_api import names
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.workload import WORKLOAD
from collectorfleet_operator.decide.actions import SetStatus
from collectorfleet_operator.objects import Object

SPOT: Object = {
    "metadata": {"name": "spot"},
    "spec": {
        "nodeLabels": {"pool": "spot"},
        "tolerations": [{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}],
    },
}


def label(world: World, **labels: str) -> None:
    """Put the fleet into the LocalQueue ``team``. ``labels`` are further labels, or replace the queue."""
    _set_labels(world, {names.QUEUE_LABEL: "team", **labels})


def unlabel(world: World) -> None:
    """Remove all labels of the fleet."""
    _set_labels(world, {})


def _set_labels(world: World, labels: dict[str, str]) -> None:
    fleet = world.get(FLEET)
    fleet["metadata"]["labels"] = labels
    world.store(fleet)


def queued(changes: dict[str, Any] | None = None) -> World:
    """Return a fleet that has a Workload and no quota."""
    world = World(changes)
    world.flavors["spot"] = SPOT
    label(world)
    assert kinds(world.carry_out()) == ["Create Workload"]
    return world


def say(world: World, type_: str, word: str, reason: str = "Said", message: str = "") -> None:
    """Set a condition of the Workload, as Kueue does."""
    found = world.get(WORKLOAD)
    status = found.setdefault("status", {})
    kept = [one for one in status.get("conditions", []) if one["type"] != type_]
    time = wire_time(NOON)
    new = {"type": type_, "status": word, "reason": reason, "message": message, "lastTransitionTime": time}
    status["conditions"] = [*kept, new]
    world.store(found)


def check(world: World, *checks: dict[str, Any]) -> None:
    """Set the admission checks of the Workload."""
    found = world.get(WORKLOAD)
    found["status"]["admissionChecks"] = list(checks)
    world.store(found)


def deactivate(world: World) -> None:
    """Deactivate the Workload, as Kueue does after too many evictions."""
    found = world.get(WORKLOAD)
    found["spec"]["active"] = False
    world.store(found)


def admit(world: World) -> None:
    """Admit the Workload with all pods on the flavor ``spot``."""
    found = world.get(WORKLOAD)
    assignments = [
        {"name": one["name"], "count": one["count"], "flavors": {"cpu": "spot", "memory": "spot"}}
        for one in found["spec"]["podSets"]
    ]
    found["status"] = {"admission": {"clusterQueue": "lab", "podSetAssignments": assignments}}
    world.store(found)
    say(world, "QuotaReserved", "True")
    say(world, "Admitted", "True")


def with_quota(changes: dict[str, Any] | None = None) -> World:
    """Return a fleet that has quota and no children yet."""
    world = queued(changes)
    admit(world)
    return world


def admitted(changes: dict[str, Any] | None = None) -> World:
    """Return a fleet that runs on its quota. Its Workload has ``PodsReady``."""
    world = with_quota(changes)
    world.start()
    assert [type(one) for one in world.carry_out()] == [SetStatus]
    return world


def requested_pods(world: World) -> dict[str, int]:
    """Return the requested number of pods by pod set."""
    return {one["name"]: one["count"] for one in world.get(WORKLOAD)["spec"]["podSets"]}
