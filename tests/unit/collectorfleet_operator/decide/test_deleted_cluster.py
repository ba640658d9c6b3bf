"""Somebody deletes the RayCluster of a fleet, or a changed spec makes the operator do so."""

from __future__ import annotations

import pytest
from tests.unit.collectorfleet_operator.world import DRIVER, World, kinds, later, running, told, wire_time

from collectorfleet_api import names
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.pod_template import POD
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.decide.actions import Delete
from collectorfleet_operator.objects import Object, annotation, name_of, uid_of

CHECKPOINT = {"spec.driver.checkpoint": {"claimName": "runs"}}


def end(world: World, pod: Object, grace: int) -> None:
    """Let the garbage collector delete a pod, whose kubelet then waits for its containers."""
    gone_at = wire_time(later(world.seconds + grace))
    pod["metadata"] |= {"deletionTimestamp": gone_at, "deletionGracePeriodSeconds": grace}
    world.store(pod)


def cluster_pods(world: World) -> list[Object]:
    return [*world.pods("head"), *world.pods("worker")]


def deleted(world: World) -> World:
    """Its RayCluster was deleted by ``kubectl delete``, a minute after the start."""
    world.look()
    world.wait_until(60)
    world.report(4, at=world.now)
    world.collect(world.get(RAYCLUSTER))
    for pod in cluster_pods(world):
        end(world, pod, 30)
    return world


def test_a_fleet_whose_raycluster_is_deleted_is_not_ready_and_says_why() -> None:
    status = deleted(running()).look(later(60))
    assert told(status, "Ready")[:2] == ("False", "WaitingForDeletion")
    assert told(status, "Ready")[2].startswith("5 pods of an earlier RayCluster are being deleted: ")


def test_a_deleted_raycluster_is_made_again_at_once_and_uses_up_no_try() -> None:
    world = deleted(running())
    before = uid_of(world.get(JOB, DRIVER))
    first = world.carry_out()
    assert kinds(first) == ["Delete Job", "Create Job"]
    assert isinstance(first[0], Delete)
    assert first[0].why == "Job cheetah-driver: its RayCluster was deleted; its driver cannot continue"
    assert uid_of(world.get(JOB, DRIVER)) != before
    gone = world.carry_out()
    assert {(one.kind, one.grace_seconds, one.announced) for one in gone if isinstance(one, Delete)} == {
        (POD, 1, False)
    }
    assert len(gone) == 5
    assert kinds(world.carry_out()) == ["Create RayCluster"]
    status = world.look(world.now)
    assert told(status, "Ready")[0] == "False"
    assert status.driver is not None
    assert status.driver.restarts == 0


def test_pods_that_have_no_grace_any_more_are_left_to_their_kubelets() -> None:
    world = deleted(running())
    world.carry_out()
    for pod in cluster_pods(world):
        end(world, pod, 1)
    assert world.plan().actions == ()


def test_a_driver_that_waits_for_the_next_raycluster_is_not_started_once_more() -> None:
    world = deleted(running())
    (last,) = world.pods("driver")
    world.carry_out()
    world.collect(last)
    for pod in cluster_pods(world):
        end(world, pod, 1)
    world.make_pods()
    world.run_pods("driver")
    # The last words of the one before.
    world.report(4, at=later(61))
    assert world.plan().actions == ()
    world.renew_lease()
    world.report(0, at=later(62))
    assert world.plan().actions == ()
    world.collect(*cluster_pods(world))
    assert kinds(world.carry_out()) == ["Create RayCluster"]


def test_with_a_checkpoint_the_driver_ends_its_batch_before_its_collectors_go() -> None:
    world = deleted(running(CHECKPOINT))
    assert world.plan().actions == ()
    status = world.look(world.now)
    assert status.orders is not None
    assert status.orders.stop_at_batch
    assert told(status, "Ready")[:2] == ("False", "WaitingForDeletion")
    world.end_driver(names.EXIT_STOPPED, "stopped: the operator asked the driver to end after its batch")
    assert kinds(world.carry_out()) == ["Delete Job", "Create Job"]
    assert set(kinds(world.carry_out())) == {"Delete Pod"}
    assert kinds(world.carry_out()) == ["Create RayCluster"]


def test_a_raycluster_that_is_deleted_in_the_foreground_waits_for_the_batch_as_well() -> None:
    """Its pods are deleted before it, one after another: at first its head still runs."""
    world = running(CHECKPOINT)
    world.look()
    world.wait_until(60)
    world.report(4, at=world.now)
    cluster = world.get(RAYCLUSTER)
    cluster["metadata"] |= {"deletionTimestamp": wire_time(later(60)), "finalizers": ["foregroundDeletion"]}
    world.store(cluster)
    assert world.plan().actions == ()
    status = world.look(world.now)
    assert status.orders is not None
    assert status.orders.stop_at_batch
    world.end_driver(names.EXIT_STOPPED, "stopped: the operator asked the driver to end after its batch")
    assert kinds(world.carry_out()) == ["Delete Job", "Create Job"]


@pytest.mark.parametrize("resumes", [True, False], ids=["with a checkpoint", "without one"])
def test_a_changed_spec_waits_for_the_driver_before_it_and_not_for_idle_workers(resumes: bool) -> None:
    """A node selector that is corrected, for example, waited for the grace of worker pods."""
    world = running(CHECKPOINT if resumes else {})
    world.edit(
        {"spec.ray.head.template": {"spec": {"nodeSelector": {"pool": "cpu"}}}, **(CHECKPOINT if resumes else {})}
    )
    (driver,) = world.pods("driver")
    world.collect(world.get(JOB, DRIVER))
    end(world, driver, 30)
    if resumes:
        assert world.plan().actions == ()
        world.end_driver(names.EXIT_SIGTERM)
    assert kinds(world.carry_out()) == ["Delete RayCluster"]
    for pod in cluster_pods(world):
        end(world, pod, 30)
    assert set(kinds(world.carry_out())) == {"Delete Pod"}
    world.collect(driver)
    assert kinds(world.carry_out()) == ["Create Job", "Create RayCluster"]


def test_a_held_edit_stays_held_when_the_raycluster_is_deleted() -> None:
    world = running()
    world.edit({"spec.image": "ghcr.io/you/cheetah:2.0"})
    deleted(world)
    world.carry_out()
    again = world.get(JOB, DRIVER)
    assert again["spec"]["template"]["spec"]["containers"][0]["image"] == "ghcr.io/you/cheetah:1.0"
    assert annotation(again, "collectorfleet.dev/generation") == "1"
    assert name_of(again) == "cheetah-driver"
