"""Which changed spec replaces a run at once, and which one waits for another run."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.unit.collectorfleet_operator.decide.worker_pods import replicas
from tests.unit.collectorfleet_operator.world import DRIVER, World, kinds, running, started

from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.raycluster import RAYCLUSTER


def test_a_running_driver_keeps_its_cluster_and_only_replicas_follow() -> None:
    world = running({"spec.collectors.replicas": 2})
    before = world.get(RAYCLUSTER)["spec"]["headGroupSpec"]
    world.edit({"spec.image": "ghcr.io/you/cheetah:2.0", "spec.collectors.replicas": 3})
    assert kinds(world.carry_out()) == ["Update RayCluster"]
    assert replicas(world) == 3
    assert world.get(RAYCLUSTER)["spec"]["headGroupSpec"] == before
    assert world.carry_out() == ()


def without_its_image(world: World) -> None:
    world.hold_up("driver", "ErrImagePull", "no such image")


def without_a_node(world: World) -> None:
    unscheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no node fits"}
    for pod in world.pods("driver"):
        world.set_pod(pod, phase="Pending", conditions=[unscheduled])


@pytest.mark.parametrize("hold_up", [without_its_image, without_a_node])
def test_a_run_that_never_delivered_a_batch_is_replaced_at_once(hold_up: Callable[[World], None]) -> None:
    world = started()
    hold_up(world)
    world.report(0, progress={"batches": 0})
    world.edit({"spec.image": "ghcr.io/you/cheetah:2.0"})
    (gone,) = world.carry_out()
    assert (gone.kind, gone.why) == (
        JOB,
        "Job cheetah-driver: it has delivered no batch, and generation 2 of the spec starts another try",
    )
    assert kinds(world.carry_out()) == ["Delete RayCluster"]
    world.collect(*world.all_pods())
    assert kinds(world.carry_out()) == ["Create Job", "Create RayCluster"]


def test_a_run_that_never_delivered_a_batch_is_not_replaced_by_what_cannot_run() -> None:
    world = World()
    world.carry_out()
    world.edit({"spec.collectors.resources": {"gpu": 1.5}})
    assert world.carry_out() == ()


def test_what_an_earlier_driver_delivered_is_progress_too() -> None:
    world = running()
    world.wait_until(60)
    world.replace_driver_pod()
    # The new driver keeps the time of the last batch until it delivers a batch.
    progress = {**world.get(FLEET)["status"]["progress"], "batches": 0, "framesDelivered": 0}
    world.report(0, at=world.now, driverIncarnation=2, progress=progress)
    world.edit({"spec.image": "ghcr.io/you/cheetah:2.0"})
    assert world.carry_out() == ()


def test_a_run_whose_stored_spec_is_unreadable_follows_replicas() -> None:
    world = running()
    world.edit({"spec.collection": 7, "spec.collectors.replicas": 6})
    assert kinds(world.carry_out()) == ["Update RayCluster"]
    assert replicas(world) == 6


def test_deleting_the_job_starts_over_with_the_new_spec_on_a_new_cluster() -> None:
    world = running()
    world.edit({"spec.image": "ghcr.io/you/cheetah:2.0"})
    assert world.carry_out() == ()
    world.collect(world.get(JOB, DRIVER), *world.pods("driver"))
    assert kinds(world.carry_out()) == ["Delete RayCluster"]
    # KubeRay finds pods by name, so it would count old pods as pods of the new cluster.
    assert kinds(world.carry_out()) == ["Delete Pod"] * 5
    assert kinds(world.carry_out()) == ["Create Job", "Create RayCluster"]
    template = world.get(RAYCLUSTER)["spec"]["headGroupSpec"]["template"]
    assert template["spec"]["containers"][0]["image"] == "ghcr.io/you/cheetah:2.0"


def test_a_failed_fleet_takes_a_changed_spec_for_another_try() -> None:
    world = running()
    world.fail()
    world.carry_out()
    world.look()
    assert world.carry_out() == ()
    world.edit({"spec.environment": {"factory": "my_envs:other"}})
    assert kinds(world.carry_out()) == ["Delete Job"]
    world.collect(*world.all_pods())
    assert kinds(world.carry_out()) == ["Create Job", "Create RayCluster"]


def test_min_available_is_no_part_of_a_run() -> None:
    world = running()
    world.edit({"spec.collectors": {"replicas": 4, "minAvailable": 3}})
    assert not world.seen().spec_is_held
