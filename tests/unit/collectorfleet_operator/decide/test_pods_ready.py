"""When the operator reports to Kueue that the pods of a fleet are ready."""

from __future__ import annotations

from typing import Any

import pytest
from tests.combinations.parts import JOB as WITHOUT_RAY
from tests.unit.collectorfleet_operator.decide.queued import admitted, with_quota
from tests.unit.collectorfleet_operator.world import KEY, World, kinds, told

from collectorfleet_api import names
from collectorfleet_operator.children.timeline import CONFIG_MAP
from collectorfleet_operator.children.workload import WORKLOAD
from collectorfleet_operator.decide.workload import message_of
from collectorfleet_operator.objects import Key, has_condition


def ready_message(world: World) -> str:
    """Return the message of ``PodsReady``; empty while the condition is not true."""
    found = world.get(WORKLOAD)
    return message_of(found, "PodsReady") if has_condition(found, "PodsReady") else ""


def with_running_pods(changes: dict[str, Any] | None = None) -> World:
    """Return a fleet that has quota and whose pods all run."""
    world = with_quota(changes)
    world.carry_out()
    world.make_pods()
    world.run_pods("head", "worker", "driver")
    world.renew_lease()
    return world


def with_a_pending_pod(min_available: int) -> World:
    """Return a fleet of 4 collectors in 4 worker pods, of which one stays pending."""
    collectors = {"spec.collectors.replicas": 4, "spec.collectors.minAvailable": min_available}
    world = with_running_pods({**collectors, "spec.workers.collectorsPerPod": 1})
    world.set_pod(world.pods("worker")[-1], phase="Pending")
    return world


@pytest.mark.parametrize("launcher", [{}, WITHOUT_RAY], ids=["RayCluster", "Job"])
def test_kueue_is_told_once_that_all_pods_are_ready(launcher: dict[str, Any]) -> None:
    world = admitted(launcher)
    assert ready_message(world) == "all pods of the fleet are ready"
    assert world.plan().actions == ()


def test_a_fleet_whose_pods_are_ready_keeps_its_quota_while_its_environments_start() -> None:
    world = with_running_pods()
    world.report(0)
    assert kinds(world.carry_out()) == ["SetStatus Workload"]
    assert told(world.look(), "Ready")[0] == "False"
    assert ready_message(world) == "all pods of the fleet are ready"


def test_kueue_does_not_evict_a_fleet_that_collects_with_some_of_its_pods_pending() -> None:
    world = with_a_pending_pod(min_available=3)
    world.report(2)
    assert kinds(world.carry_out()) == []
    world.report(3)
    assert kinds(world.carry_out()) == ["SetStatus Workload"]
    assert told(world.look(), "Ready")[0] == "True"
    assert ready_message(world) == "the fleet is Ready: 3 of 4 collectors run acknowledged weights"
    assert world.plan().actions == ()


def test_kueue_does_not_evict_a_fleet_whose_first_batch_takes_long() -> None:
    world = with_a_pending_pod(min_available=3)
    collectors = {"desired": 4, "available": 3, "summary": "3/4"}
    world.report(3, progress={"batches": 0, "framesDelivered": 0, "collectors": collectors})
    assert kinds(world.carry_out()) == ["SetStatus Workload"]
    assert told(world.look(), "Ready")[:2] == ("False", "FirstBatchPending")
    assert ready_message(world).startswith("enough pods of the fleet are ready: ")


def test_kueue_is_told_that_a_fleet_is_ready_before_a_child_may_be_refused() -> None:
    world = with_a_pending_pod(min_available=3)
    world.report(3)
    world.collect(world.get(CONFIG_MAP, Key(KEY.namespace, names.timeline_name(KEY.name))))
    assert kinds(world.plan().actions) == ["SetStatus Workload", "Create ConfigMap"]


def test_kueue_is_told_nothing_of_a_fleet_that_is_not_ready_and_lacks_a_pod() -> None:
    world = with_a_pending_pod(min_available=4)
    world.report(3)
    assert world.carry_out() == ()
    assert ready_message(world) == ""
