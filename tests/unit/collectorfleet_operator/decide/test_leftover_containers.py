"""A driver that has ended in a pod that a container of its template keeps running."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.unit.collectorfleet_operator.world import DRIVER, NOON, World, kinds, later, running, told, wire_time

from collectorfleet_api.conditions.outcome import Completed, Failed, Running
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.pod_template import POD
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.decide.actions import Delete
from collectorfleet_operator.decide.another_plan import needs_another_plan
from collectorfleet_operator.decide.outcome import outcome
from collectorfleet_operator.objects import Object

KEPT = (
    "container shipper keeps the driver pod running "
    "(to avoid this, make it an init container with restartPolicy Always)"
)


def ended(code: int, message: str = "", phase: str = "Running", changes: dict[str, Any] | None = None) -> World:
    """The driver has ended at noon, and a log shipper beside it runs on."""
    world = running(changes)
    (pod,) = world.pods("driver")
    end = {"exitCode": code, "message": message, "finishedAt": wire_time(NOON)}
    statuses = [
        {"name": "driver", "ready": False, "state": {"terminated": end}},
        {"name": "shipper", "ready": True, "state": {"running": {}}},
    ]
    world.set_pod(pod, phase=phase, containerStatuses=statuses)
    world.seconds = 50  # its Lease counts as lost by now
    return world


def test_a_driver_that_raised_has_failed_by_its_own_words() -> None:
    world = ended(64, "no such game")
    found = outcome(world.seen())
    assert isinstance(found, Failed)
    assert found.message.startswith("no such game; the RayCluster is deleted, Job cheetah-driver and its pods are kept")
    assert f"{KEPT}, and the pod is deleted 60 s after the driver's end" in found.message
    assert kinds(world.carry_out()) == ["Delete RayCluster"]


def test_a_driver_that_is_done_completes_its_fleet() -> None:
    world = ended(0)
    found = outcome(world.seen())
    assert isinstance(found, Completed)
    assert found.message.endswith(f"Job cheetah-driver is deleted 60 s after the driver's end: {KEPT}")
    assert told(world.look(world.now), "Ready")[:2] == ("True", "Completed")
    assert kinds(world.carry_out()) == ["Delete RayCluster"]
    assert world.plan().actions == ()


def test_what_outlives_a_completed_fleet_keeps_neither_gpu_nor_quota() -> None:
    world = ended(0)
    world.look(world.now)
    world.carry_out()
    assert world.plan().actions == ()
    assert world.plan().again_after == timedelta(seconds=10)
    world.seconds = 60
    (gone,) = world.carry_out()
    assert isinstance(gone, Delete)
    assert (gone.kind, gone.why) == (JOB, f"Job cheetah-driver: 60 s after the driver's end, {KEPT}")
    world.collect(*world.pods("driver"))
    assert told(world.look(world.now), "Ready")[:2] == ("True", "Completed")
    assert "shipper" in told(world.look(world.now), "Ready")[2]
    assert world.plan().actions == ()


def test_the_job_stays_until_the_status_says_that_its_run_completed() -> None:
    world = ended(0)
    world.seconds = 60
    assert kinds(world.plan().actions) == ["Delete RayCluster"]
    world.look(world.now)
    assert kinds(world.plan().actions) == ["Delete RayCluster", "Delete Job"]


def test_a_status_that_says_that_the_run_completed_is_planned_on_at_once() -> None:
    """The operator was away meanwhile, and no object changes that would bring the next look."""
    world = ended(0, changes={"spec.whenFinished": "Keep"})
    world.seconds = 600
    assert world.plan().actions == ()
    before = world.get(FLEET)["status"]
    world.look(world.now)
    assert needs_another_plan(before, world.get(FLEET)["status"])
    assert kinds(world.plan().actions) == ["Delete Job"]


def test_what_outlives_a_failed_driver_goes_and_the_fleet_stays_failed() -> None:
    world = ended(64, "no such game")
    before = told(world.look(world.now), "Ready")
    world.carry_out()
    assert world.plan().again_after == timedelta(seconds=10)
    world.seconds = 60
    assert kinds(world.carry_out()) == ["Delete Pod"]
    world.end_job("Failed")
    assert told(world.look(world.now), "Ready") == before
    assert world.plan().actions == ()


@pytest.mark.parametrize("how", ["the pod is taken", "the shipper failed"])
def test_a_fleet_that_completed_is_not_run_again_by_its_job(how: str) -> None:
    world = ended(0)
    world.look(world.now)
    world.carry_out()
    (pod,) = world.pods("driver")
    if how == "the pod is taken":
        world.collect(pod)
        world.make_pods()
    else:
        world.set_pod(pod, **{**pod["status"], "phase": "Failed"})
        assert world.plan().actions == ()
        world._pod("driver", world.get(JOB, DRIVER), world.get(JOB, DRIVER)["spec"]["template"])
    assert kinds(world.carry_out()) == ["Delete Job"]
    assert world.cache.get(RAYCLUSTER, DRIVER) is None
    assert isinstance(outcome(world.seen()), Completed)


def test_a_kept_raycluster_goes_in_time_though_its_job_never_ended() -> None:
    world = ended(0, changes={"spec.whenFinished": "Keep", "spec.ttlSecondsAfterFinished": 60})
    world.look(world.now)
    world.collect(*world.pods("driver"))
    assert kinds(world.carry_out()) == ["Delete Job"]
    world.look(world.now)
    assert world.plan().actions == ()
    assert world.plan().again_after == timedelta(seconds=60)
    world.seconds += 60
    assert kinds(world.carry_out()) == ["Delete RayCluster"]


def test_a_driver_that_is_to_be_tried_again_is_once_its_shipper_had_time_to_end() -> None:
    world = ended(1, "it lost the head")
    assert outcome(world.seen()) == Running()
    status, reason, message = told(world.look(world.now), "DriverRunning")
    assert (status, reason) == ("False", "Restarting")
    assert f"(1 of 7 tries): it lost the head; {KEPT}; the pod is deleted 60 s after the driver's end" in message
    assert world.plan().actions == ()
    assert world.plan().again_after == timedelta(seconds=10)
    world.seconds = 60
    (gone,) = world.carry_out()
    assert isinstance(gone, Delete)
    assert (gone.kind, gone.force, gone.grace_seconds) == (POD, False, None)
    assert gone.why.endswith(f"its driver failed: it lost the head; {KEPT}")
    assert world.plan().actions == ()


def leaving(world: World, pod: Object) -> None:
    pod["metadata"] |= {"deletionTimestamp": wire_time(later(90)), "deletionGracePeriodSeconds": 30}
    world.store(pod)


def test_a_pod_that_goes_already_is_deleted_once() -> None:
    world = ended(1)
    leaving(world, world.pods("driver")[0])
    world.seconds = 60
    assert world.plan().actions == ()


def test_what_never_began_keeps_a_pod_as_well() -> None:
    world = ended(1)
    (pod,) = world.pods("driver")
    driver, shipper = pod["status"]["containerStatuses"]
    pulled = {**shipper, "state": {"waiting": {"reason": "ImagePullBackOff"}}}
    world.set_pod(pod, phase="Pending", containerStatuses=[driver, pulled])
    world.seconds = 60
    assert kinds(world.plan().actions) == ["Delete Pod"]


def test_a_pod_that_is_over_is_kept_for_its_log_whatever_is_said_of_its_containers() -> None:
    world = ended(1, phase="Failed")
    world.seconds = 600
    assert world.plan().actions == ()
    assert "shipper" not in told(world.look(world.now), "DriverRunning")[2]


def test_a_sidecar_of_kubernetes_own_is_left_to_end_by_itself() -> None:
    world = ended(1)
    (pod,) = world.pods("driver")
    driver, shipper = pod["status"]["containerStatuses"]
    world.set_pod(pod, phase="Running", containerStatuses=[driver], initContainerStatuses=[shipper])
    world.seconds = 600
    assert world.plan().actions == ()
    assert "shipper" not in told(world.look(world.now), "DriverRunning")[2]
