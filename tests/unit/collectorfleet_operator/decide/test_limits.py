"""The deadlines of a run: what counts as late, and what happens then."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.unit.collectorfleet_operator.world import (
    DRIVER,
    World,
    condition,
    kinds,
    later,
    running,
    started,
    told,
    wire_time,
)

from collectorfleet_api.conditions.condition import is_true
from collectorfleet_api.v1alpha1 import Phase
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.lease import LEASE
from collectorfleet_operator.children.raycluster import RAYCLUSTER

AGAIN = "to try again, change the spec, or set spec.suspend to true and back"


def starting(changes: dict[str, Any]) -> World:
    """Return a fleet whose worker pods cannot pull their image."""
    world = started(changes)
    world.hold_up("worker", "ImagePullBackOff", "no such image")
    world.look()
    return world


def begin_job(world: World, at: datetime) -> None:
    """Set the time at which the Job controller started the driver."""
    world.store({**world.get(JOB, DRIVER), "status": {"startTime": wire_time(at)}})


def test_a_fleet_without_a_first_batch_fails_at_its_startup_deadline_and_keeps_the_cause() -> None:
    world = starting({"spec.startupDeadlineSeconds": 300})
    assert world.plan().again_after == timedelta(seconds=300)
    status = world.look(later(299))
    assert status.phase is not Phase.FAILED
    world.seconds = 300
    # The status records the reason before the operator deletes the Job, because later only the status has it.
    assert "Delete Job" not in kinds(world.plan().actions)
    status = world.look(world.now)
    assert told(status, "Stalled")[:2] == ("True", "DeadlineExceeded")
    assert told(status, "Completed")[:2] == ("False", "DeadlineExceeded")
    said = told(status, "Ready")[2]
    assert (
        "the driver delivered no batch within 300 s (spec.startupDeadlineSeconds) after Job cheetah-driver was created"
    ) in said
    assert "no such image" in said
    assert said.endswith(AGAIN)
    assert {"Delete RayCluster", "Delete Job"} == set(kinds(world.carry_out()))
    assert world.plan().actions == ()
    world.seconds = 4000
    assert told(world.look(world.now), "Ready")[2] == said
    assert world.look(world.now).phase is Phase.FAILED


def test_a_first_batch_ends_the_startup_deadline() -> None:
    world = running({"spec.startupDeadlineSeconds": 300})
    world.wait_until(301)
    assert is_true(condition(world.look(world.now), "Ready"))


def test_a_driver_that_follows_one_that_delivered_has_missed_no_startup_deadline_and_has_its_own_time() -> None:
    world = running({"spec.startupDeadlineSeconds": 300})
    world.wait_until(7200)
    world.replace_driver_pod()
    status = world.look(world.now)
    assert told(status, "Completed")[1] == "Running"
    assert told(status, "Stalled")[0] == "False"
    assert not {"Delete RayCluster", "Delete Job"} & set(kinds(world.plan().actions))
    # The new driver reports the last batch of the driver before it.
    world.report(0, at=world.now, last_batch=later(60), driverIncarnation=2)
    assert told(world.look(world.now), "Completed")[1] == "Running"
    assert told(world.look(world.now), "Stalled")[0] == "False"
    world.wait_until(7200 + 601)
    assert told(world.look(world.now), "Stalled")[:2] == ("True", "ProgressDeadlineExceeded")
    assert told(world.look(world.now), "Completed")[1] == "Running"


def test_a_driver_that_is_not_done_at_its_active_deadline_has_failed() -> None:
    world = running({"spec.activeDeadlineSeconds": 3600})
    world.wait_until(3600)
    status = world.look(world.now)
    assert told(status, "Completed")[1] == "DeadlineExceeded"
    assert (
        "the run did not finish within 3600 s (spec.activeDeadlineSeconds) of the driver's start"
        in told(status, "Ready")[2]
    )
    assert "Delete Job" in kinds(world.carry_out())


def test_a_deleted_raycluster_does_not_set_back_the_active_deadline() -> None:
    world = running({"spec.activeDeadlineSeconds": 3600})
    begin_job(world, later(600))
    for seconds in (1800, 3000):  # when the second and the third Job begin
        world.wait_until(seconds)
        world.report(4, at=world.now)
        world.collect(world.get(RAYCLUSTER), *world.pods("head"), *world.pods("worker"))
        assert kinds(world.carry_out())[:2] == ["Delete Job", "Create Job"]
        world.collect(*world.pods("driver"))
        world.carry_out()
        world.make_pods()
        world.run_pods("head", "worker", "driver")
        begin_job(world, world.now)
    world.wait_until(4199)
    assert told(world.look(world.now), "Completed")[1] == "Running"
    world.wait_until(4200)
    assert told(world.look(world.now), "Completed")[1] == "DeadlineExceeded"


def test_a_deadline_counts_from_the_moment_that_the_job_controller_writes() -> None:
    world = running({"spec.activeDeadlineSeconds": 3600})
    begin_job(world, later(600))
    world.wait_until(3600)
    assert told(world.look(world.now), "Completed")[1] == "Running"
    world.wait_until(4200)
    assert told(world.look(world.now), "Completed")[1] == "DeadlineExceeded"


def test_a_driver_is_started_again_as_often_as_the_backoff_limit_says() -> None:
    world = running({"spec.backoffLimit": 2})
    assert world.get(JOB, DRIVER)["spec"]["backoffLimit"] == 2
    world.end_driver(1, "the head is lost")
    assert "(1 of 3 tries)" in told(world.look(), "DriverRunning")[2]
    world.end_job("Failed", failed=3)
    assert "failed 3 times (backoffLimit is 2)" in told(world.look(), "Ready")[2]
    assert world.get(RAYCLUSTER)


def test_a_run_that_missed_a_deadline_is_tried_again_with_another_spec() -> None:
    world = starting({"spec.startupDeadlineSeconds": 300})
    world.seconds = 300
    world.look(world.now)
    world.carry_out()
    world.collect(*world.all_pods())
    world.edit({"spec.startupDeadlineSeconds": 600})
    assert {"Create RayCluster", "Create Job"} <= set(kinds(world.carry_out()))


def renew_by_its_own_clock(world: World, off: float) -> None:
    """Let a driver renew its Lease, with a clock that is ``off`` seconds ahead of the API server's."""
    world.renew_lease()
    lease = world.get(LEASE, DRIVER)
    lease["spec"]["renewTime"] = later(world.seconds + off).isoformat()
    lease["metadata"]["managedFields"] = [{"manager": "driver", "time": world.now.isoformat()}]
    world.store(lease)


@pytest.mark.parametrize("off", [3600, -3600], ids=["ahead", "behind"])
def test_a_driver_whose_clock_is_an_hour_off_is_neither_idle_nor_late_for_its_first_batch(off: float) -> None:
    limits = {"spec.idleTimeoutSeconds": 1800, "spec.startupDeadlineSeconds": 600}
    world = running({**limits, "spec.driver.checkpoint": {"claimName": "runs"}})
    world.report(4, last_batch=later(off + 900))
    for seconds in (1000, 2600):
        world.seconds = seconds
        renew_by_its_own_clock(world, off)
        status = world.look(world.now)
        assert status.orders is None
        assert told(status, "Completed")[1] == "Running"
    # The last batch is 1800 s ago.
    world.seconds = 2700
    renew_by_its_own_clock(world, off)
    assert told(world.look(world.now), "Suspended")[1] == "IdleTimeout"
