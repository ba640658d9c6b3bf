"""Kueue suspends what a fleet without a queue consists of."""

from __future__ import annotations

import pytest
from tests.combinations.parts import JOB as WITHOUT_RAY
from tests.unit.collectorfleet_operator.world import COLLECTORS, DRIVER, KEY, World, later, told

from collectorfleet_api import names
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.objects import Key, Kind

ANEW = "then set spec.suspend of the fleet to true and back"


def suspend(world: World, kind: Kind, key: Key, queue: str) -> None:
    child = world.get(kind, key)
    child["spec"]["suspend"] = True
    if queue:
        child["metadata"]["labels"][names.QUEUE_LABEL] = queue
    world.store(child)


def suspended(queue: str) -> World:
    world = World()
    world.carry_out()
    suspend(world, RAYCLUSTER, KEY, queue)
    suspend(world, JOB, DRIVER, queue)
    world.seconds = 60
    return world


def test_kueue_is_named_and_not_kuberay_if_a_local_queue_takes_everything() -> None:
    status = suspended("default").look(later(60))
    for type_, child in (("RayClusterReady", "RayCluster cheetah"), ("DriverRunning", "Job cheetah-driver")):
        text = f"Kueue suspended {child}, because LocalQueue default manages objects without a queue label"
        assert told(status, type_) == ("False", "ChildSuspended", f"{text}; rename LocalQueue default, {ANEW}")
    assert told(status, "Ready") == ("False", *told(status, "RayClusterReady")[1:])


def test_a_child_that_somebody_suspended_is_named_if_no_queue_is() -> None:
    ready = told(suspended("").look(later(60)), "Ready")
    assert ready[1] == "ChildSuspended"
    assert ready[2].startswith("another client has set spec.suspend of RayCluster cheetah to true; if Kueue ")


@pytest.mark.parametrize("queue", ["default", ""])
def test_the_job_of_collectors_without_ray_is_named_as_well(queue: str) -> None:
    world = World(WITHOUT_RAY)
    world.carry_out()
    suspend(world, JOB, COLLECTORS, queue)
    assert told(world.look(), "CollectorsJobReady")[1] == "ChildSuspended"


def test_a_suspended_child_stays_as_kueue_wants_it() -> None:
    world = suspended("default")
    assert world.plan().actions == ()
