"""A driver that hangs is replaced where the spec says when, and is kept where it does not."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.unit.collectorfleet_operator.world import NOON, kinds, running, started, told, wire_time

from collectorfleet_api.conditions.outcome import Failed
from collectorfleet_operator.children.pod_template import POD
from collectorfleet_operator.decide.actions import Delete
from collectorfleet_operator.decide.outcome import outcome
from collectorfleet_operator.objects import name_of

REPLACED = {"spec.driver.livenessDeadlineSeconds": 90}


def test_it_is_kept_and_told_where_nothing_says_when() -> None:
    world = running()
    world.seconds = 3600
    _, reason, message = told(world.look(world.now), "DriverRunning")
    assert reason == "DriverLost"
    assert message.endswith("delete the pod to have it replaced")
    assert world.plan().actions == ()


def test_it_is_deleted_once_its_lease_was_not_renewed_for_so_long() -> None:
    world = running(REPLACED)
    (pod,) = world.pods("driver")
    world.seconds = 50
    _, reason, message = told(world.look(world.now), "DriverRunning")
    assert reason == "DriverLost"
    assert message.endswith("the operator replaces the pod after 90 s (spec.driver.livenessDeadlineSeconds)")
    assert world.plan().actions == ()
    assert world.plan().again_after == timedelta(seconds=40)
    world.seconds = 90
    (gone,) = world.carry_out()
    assert isinstance(gone, Delete)
    # With its grace: one that only lost the API server writes its checkpoint.
    assert (gone.kind, gone.name, gone.force, gone.grace_seconds) == (POD, name_of(pod), False, None)
    assert gone.why == f"Pod {name_of(pod)}: its driver hangs: its Lease was not renewed for 90 s"
    assert world.plan().actions == ()


def test_one_that_renews_again_in_time_is_kept() -> None:
    world = running(REPLACED)
    world.wait_until(89)
    world.seconds = 120
    assert world.plan().actions == ()
    assert told(world.look(world.now), "DriverRunning")[1] == "Running"


def test_each_is_one_of_its_tries() -> None:
    world = running(REPLACED | {"spec.backoffLimit": 0})
    world.seconds = 90
    assert kinds(world.carry_out()) == ["Delete Pod"]
    # Killed when its grace is over.
    world.end_job("Failed", failed=1)
    assert isinstance(outcome(world.seen()), Failed)


def test_the_deadline_is_followed_while_the_fleet_runs() -> None:
    world = running()
    world.seconds = 100
    assert world.plan().actions == ()
    world.edit(REPLACED)
    assert not world.seen().spec_is_held
    assert kinds(world.carry_out()) == ["Delete Pod"]


@pytest.mark.parametrize("how", ["its node is silent", "it goes already", "it has ended"])
def test_what_is_no_hung_driver_is_left_as_it_is(how: str) -> None:
    world = running(REPLACED)
    (pod,) = world.pods("driver")
    if how == "its node is silent":
        turned = {"lastTransitionTime": wire_time(NOON)}
        ready = {"type": "Ready", "status": "False", **turned}
        statuses = [{"name": "driver", "ready": True, "state": {"running": {"startedAt": wire_time(NOON)}}}]
        world.set_pod(pod, phase="Running", conditions=[ready], containerStatuses=statuses)
    elif how == "it goes already":
        pod["metadata"] |= {"deletionTimestamp": "2026-01-01T13:00:00Z", "deletionGracePeriodSeconds": 30}
        world.store(pod)
    else:
        world.end_driver(1, "the head is lost")
    world.seconds = 120
    assert world.plan().actions == ()


def test_one_that_never_took_the_lease_is_kept() -> None:
    world = started(REPLACED)
    world.run_pods("head", "worker", "driver")
    pod = world.pods("driver")[0]
    statuses = [{"name": "driver", "ready": True, "state": {"running": {"startedAt": wire_time(NOON)}}}]
    world.set_pod(pod, phase="Running", containerStatuses=statuses)
    world.seconds = 3600
    _, reason, message = told(world.look(world.now), "DriverRunning")
    assert reason == "DriverLost"
    assert "without Lease cheetah-driver" in message
    assert message.endswith("delete the pod to have it replaced")
    assert world.plan().actions == ()
