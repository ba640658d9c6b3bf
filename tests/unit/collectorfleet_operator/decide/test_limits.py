"""What time does to a fleet: deadlines, the idle timeout, and how long what is over stays."""

from __future__ import annotations

from datetime import timedelta
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

from collectorfleet_api import names
from collectorfleet_api.conditions.condition import is_true
from collectorfleet_api.v1alpha1 import Phase
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.lease import LEASE
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.raycluster import RAYCLUSTER

AGAIN = "to try again, change the spec, or set spec.suspend to true and back"


def starting(changes: dict[str, Any]) -> World:
    """Its worker pods cannot pull their image."""
    world = started(changes)
    world.hold_up("worker", "ImagePullBackOff", "no such image")
    world.look()
    return world


def wait(world: World, seconds: float) -> None:
    """With a driver that lives."""
    world.wait_until(seconds)


def test_a_fleet_without_a_first_batch_fails_at_its_startup_deadline_and_keeps_the_cause() -> None:
    world = starting({"spec.startupDeadlineSeconds": 300})
    assert world.plan().again_after == timedelta(seconds=300)
    status = world.look(later(299))
    assert status.phase is not Phase.FAILED
    world.seconds = 300
    # The status first: without its Job, it is all that remembers.
    assert "Delete Job" not in kinds(world.plan().actions)
    status = world.look(world.now)
    assert told(status, "Stalled")[:2] == ("True", "DeadlineExceeded")
    assert told(status, "Completed")[:2] == ("False", "DeadlineExceeded")
    said = told(status, "Ready")[2]
    assert "no batch within 300 s (spec.startupDeadlineSeconds) after Job cheetah-driver was made" in said
    assert "no such image" in said
    assert said.endswith(AGAIN)
    assert {"Delete RayCluster", "Delete Job"} == set(kinds(world.carry_out()))
    assert world.plan().actions == ()
    world.seconds = 4000
    assert told(world.look(world.now), "Ready")[2] == said
    assert world.look(world.now).phase is Phase.FAILED


def test_a_first_batch_ends_the_startup_deadline() -> None:
    world = running({"spec.startupDeadlineSeconds": 300})
    wait(world, 301)
    assert is_true(condition(world.look(world.now), "Ready"))


def test_a_driver_that_follows_one_that_delivered_has_missed_no_startup_deadline_and_has_its_own_time() -> None:
    world = running({"spec.startupDeadlineSeconds": 300})
    wait(world, 7200)
    world.collect(*world.pods("driver"))
    world.make_pods()
    world.run_pods("driver")
    status = world.look(world.now)
    assert told(status, "Completed")[1] != "DeadlineExceeded"
    assert told(status, "Stalled")[0] == "False"
    assert not {"Delete RayCluster", "Delete Job"} & set(kinds(world.plan().actions))
    # It reports itself, with the time of the last batch before it.
    world.report(0, at=world.now, driverIncarnation=2)
    fleet = world.get(FLEET)
    fleet["status"]["progress"]["lastBatchTime"] = later(60).isoformat()
    world.store(fleet)
    assert told(world.look(world.now), "Completed")[1] != "DeadlineExceeded"
    assert told(world.look(world.now), "Stalled")[0] == "False"
    world.seconds += 601
    world.renew_lease()
    assert told(world.look(world.now), "Stalled")[:2] == ("True", "ProgressDeadlineExceeded")
    assert told(world.look(world.now), "Completed")[1] != "DeadlineExceeded"


def test_a_driver_that_follows_after_a_while_is_not_idle_before_its_first_batch() -> None:
    world = running({"spec.idleTimeoutSeconds": 600, "spec.driver.checkpoint": {"claimName": "runs"}})
    wait(world, 700)
    world.collect(*world.pods("driver"))
    world.make_pods()
    world.run_pods("driver")
    world.renew_lease()
    world.report(0, at=world.now, driverIncarnation=2)
    fleet = world.get(FLEET)
    fleet["status"]["progress"]["lastBatchTime"] = later(0).isoformat()
    world.store(fleet)
    status = world.look(world.now)
    assert status.orders is None
    assert told(status, "Suspended")[1] == "NotSuspended"


def test_a_driver_that_is_not_done_at_its_active_deadline_has_failed() -> None:
    world = running({"spec.activeDeadlineSeconds": 3600})
    wait(world, 3600)
    status = world.look(world.now)
    assert told(status, "Completed")[1] == "DeadlineExceeded"
    assert (
        "the run did not finish within 3600 s (spec.activeDeadlineSeconds) of the driver's start"
        in told(status, "Ready")[2]
    )
    assert "Delete Job" in kinds(world.carry_out())


def test_a_deleted_raycluster_does_not_set_back_the_active_deadline() -> None:
    world = running({"spec.activeDeadlineSeconds": 3600})
    job = world.get(JOB, DRIVER)
    world.store({**job, "status": {"startTime": "2026-07-01T12:10:00Z"}})
    for seconds in (1800, 3000):  # the second Job, and the third
        wait(world, seconds)
        world.report(4, at=world.now)
        world.collect(world.get(RAYCLUSTER), *world.pods("head"), *world.pods("worker"))
        assert kinds(world.carry_out())[:2] == ["Delete Job", "Create Job"]
        world.collect(*world.pods("driver"))
        world.carry_out()
        world.make_pods()
        world.run_pods("head", "worker", "driver")
        job = world.get(JOB, DRIVER)
        world.store({**job, "status": {"startTime": wire_time(world.now)}})
    wait(world, 4199)
    assert told(world.look(world.now), "Completed")[1] == "Running"
    wait(world, 4200)
    assert told(world.look(world.now), "Completed")[1] == "DeadlineExceeded"


def test_a_deadline_counts_from_the_moment_that_the_job_controller_writes() -> None:
    world = running({"spec.activeDeadlineSeconds": 3600})
    job = world.get(JOB, DRIVER)
    world.store({**job, "status": {"startTime": "2026-07-01T12:10:00Z"}})
    wait(world, 3600)
    assert told(world.look(world.now), "Completed")[1] == "Running"
    wait(world, 4200)
    assert told(world.look(world.now), "Completed")[1] == "DeadlineExceeded"


def test_a_run_that_missed_a_deadline_is_tried_again_with_another_spec() -> None:
    world = starting({"spec.startupDeadlineSeconds": 300})
    world.seconds = 300
    world.look(world.now)
    world.carry_out()
    world.collect(*world.all_pods())
    world.edit({"spec.startupDeadlineSeconds": 600})
    assert {"Create RayCluster", "Create Job"} <= set(kinds(world.carry_out()))


def test_a_fleet_that_waits_for_its_last_evaluation_is_not_idle() -> None:
    world = running({"spec.idleTimeoutSeconds": 60, "spec.driver.checkpoint": {"claimName": "runs"}})
    world.report(4, evaluation={"runningVersion": 7})
    wait(world, 600)
    assert world.look(world.now).orders is None
    world.report(4, evaluation={})
    wait(world, 600)
    assert world.look(world.now).orders is not None


def test_an_idle_fleet_is_suspended_by_asking_its_driver() -> None:
    world = running({"spec.idleTimeoutSeconds": 1800, "spec.driver.checkpoint": {"claimName": "runs"}})
    world.report(4, checkpoint={"frames": 12000})
    wait(world, 1790)
    assert world.look(world.now).orders is None
    assert world.plan().again_after == timedelta(seconds=10)
    wait(world, 1800)
    assert world.plan().actions == ()
    status = world.look(world.now)
    assert status.orders is not None
    assert told(status, "Suspended")[:2] == ("False", "IdleTimeout")
    assert "no batch was taken for 1800 s (spec.idleTimeoutSeconds)" in told(status, "Suspended")[2]
    world.end_driver(names.EXIT_STOPPED)
    # A batch that came meanwhile changes nothing: the driver has ended.
    assert kinds(world.carry_out()) == ["Delete Job"]
    assert kinds(world.carry_out()) == ["Delete RayCluster"]
    world.collect(*world.all_pods())
    status = world.look(world.now)
    assert status.phase is Phase.SUSPENDED
    assert told(status, "Suspended")[:2] == ("True", "IdleTimeout")
    assert "it continues from its checkpoint at 12000 of 12000 frames" in told(status, "Suspended")[2]
    assert world.plan().actions == ()
    assert world.look(world.now) == status


def test_an_idle_driver_that_hangs_is_ended_once_the_status_says_so() -> None:
    world = running({"spec.idleTimeoutSeconds": 1800})
    world.seconds = 1800
    assert world.plan().actions == ()
    world.look(world.now)
    (gone,) = world.carry_out()
    assert "no batch was taken for 1800 s" in gone.why
    assert "its driver is lost" in gone.why


def test_any_change_of_the_spec_resumes_an_idle_fleet_and_its_clock_begins_anew() -> None:
    world = running({"spec.idleTimeoutSeconds": 1800})
    wait(world, 1800)
    world.look(world.now)
    world.end_driver(names.EXIT_STOPPED)
    world.carry_out()
    world.carry_out()
    world.collect(*world.all_pods())
    assert world.look(world.now).phase is Phase.SUSPENDED
    world.edit({"spec.idleTimeoutSeconds": 1801})
    assert "Create Job" in kinds(world.carry_out())
    job = world.get(JOB, DRIVER)
    job["metadata"]["creationTimestamp"] = "2026-07-01T12:30:00Z"
    world.store(job)
    # What the driver before it reported is not its own.
    assert told(world.look(later(3000)), "Suspended")[1] == "NotSuspended"


def test_a_kept_raycluster_outlives_the_run_until_its_time_is_over() -> None:
    world = running({"spec.whenFinished": "Keep", "spec.ttlSecondsAfterFinished": 600})
    world.end_driver(0)
    world.end_job("Complete", completionTime="2026-07-01T12:00:00Z")
    assert world.plan().actions == ()
    status = world.look()
    assert status.driver is not None
    assert status.driver.expires == later(600)
    assert "the RayCluster is kept" in told(status, "RayClusterReady")[2]
    assert world.plan().again_after == timedelta(seconds=600)
    world.seconds = 600
    assert {"Delete RayCluster", "Delete Job"} == set(kinds(world.carry_out()))
    status = world.look(world.now)
    assert status.phase is Phase.COMPLETED
    assert world.plan().actions == ()


def test_a_failed_run_whose_job_was_tidied_up_stays_failed() -> None:
    world = running({"spec.ttlSecondsAfterFinished": 600})
    world.fail()
    status = world.look()
    assert told(status, "Ready")[2].endswith(AGAIN)
    world.carry_out()
    world.seconds = 600
    assert kinds(world.carry_out()) == ["Delete Job"]
    world.collect(*world.all_pods())
    status = world.look(world.now)
    assert "no such game" in told(status, "Ready")[2]
    assert world.plan().actions == ()
    world.edit({"spec.policy": {"factory": "my_policy:other"}})
    assert "Create Job" in kinds(world.carry_out())


def tidied_up(changes: dict[str, Any], *, exceeded: bool = False) -> World:
    """A fleet that failed, of which nothing is left but its status."""
    world = running({"spec.ttlSecondsAfterFinished": 600, **changes})
    world.look()
    if exceeded:
        wait(world, 3600)
    else:
        world.fail()
    world.look(world.now)
    world.seconds += 600
    world.carry_out()
    world.carry_out()
    world.collect(*world.all_pods())
    assert world.cache.get(JOB, DRIVER) is None
    assert world.look(world.now).phase is Phase.FAILED
    return world


FOLLOWED = {
    "scaled": {"spec.collectors": {"replicas": 3}},
    "whenFinished": {"spec.whenFinished": "Keep"},
    "ttlSecondsAfterFinished": {"spec.ttlSecondsAfterFinished": 900},
    "updateStrategy": {"spec.updateStrategy": {"type": "RollingUpdate"}},
    "progressDeadlineSeconds": {"spec.progressDeadlineSeconds": 99},
}


@pytest.mark.parametrize("exceeded", [False, True], ids=["failed", "deadline exceeded"])
@pytest.mark.parametrize("edit", FOLLOWED.values(), ids=FOLLOWED)
def test_a_failed_run_is_not_tried_again_for_an_edit_of_what_it_does_not_execute(
    edit: dict[str, Any], exceeded: bool
) -> None:
    limit = {"spec.activeDeadlineSeconds": 3600}
    world = tidied_up(limit, exceeded=exceeded)
    world.edit({"spec.ttlSecondsAfterFinished": 600, **limit, **edit})
    assert world.plan().actions == ()
    status = world.look(world.now)
    assert status.phase is Phase.FAILED
    assert status.observed_generation == 2
    # And not after the next edit.
    world.edit({"spec.ttlSecondsAfterFinished": 601, **limit, **edit})
    assert world.plan().actions == ()


@pytest.mark.parametrize("exceeded", [False, True], ids=["failed", "deadline exceeded"])
def test_a_failed_run_is_tried_again_for_an_edit_of_what_it_executes(exceeded: bool) -> None:
    limit = {"spec.activeDeadlineSeconds": 3600}
    world = tidied_up(limit, exceeded=exceeded)
    world.edit({**limit, "spec.policy": {"factory": "my_policy:other"}})
    assert "Create Job" in kinds(world.carry_out())


def test_another_deadline_is_another_try_for_a_run_that_missed_its_own_alone() -> None:
    world = tidied_up({"spec.activeDeadlineSeconds": 3600}, exceeded=True)
    world.edit({"spec.activeDeadlineSeconds": 7200})
    assert "Create Job" in kinds(world.carry_out())
    world = tidied_up({"spec.activeDeadlineSeconds": 3600})
    world.edit({"spec.activeDeadlineSeconds": 7200})
    assert world.plan().actions == ()


def test_a_failure_that_an_earlier_release_recorded_is_tried_again_by_generation() -> None:
    world = tidied_up({})
    fleet = world.get(FLEET)
    del fleet["status"]["driver"]["specHash"]
    world.store(fleet)
    assert world.plan().actions == ()
    world.edit({"spec.collectors": {"replicas": 3}})
    assert "Create Job" in kinds(world.plan().actions)


def test_a_spec_that_came_after_the_end_of_a_run_is_not_up_to_date() -> None:
    world = running({"spec.ttlSecondsAfterFinished": 0})
    world.look()
    world.complete()
    world.look()
    world.carry_out()
    world.collect(*world.all_pods())
    assert told(world.look(), "UpToDate")[0] == "True"
    world.edit({"spec.policy": {"factory": "my_policy:other"}})
    assert told(world.look(), "UpToDate")[:2] == ("False", "Completed")


def test_a_time_to_live_that_somebody_else_gave_the_job_is_no_reason_to_try_again() -> None:
    world = running()
    job = world.get(JOB, DRIVER)
    job["spec"]["ttlSecondsAfterFinished"] = 30
    world.store(job)
    world.fail()
    assert world.look().driver.expires == later(30)  # type: ignore[union-attr]
    world.carry_out()
    world.collect(world.get(JOB, DRIVER), *world.all_pods())
    assert world.look().phase is Phase.FAILED
    assert world.plan().actions == ()


def test_a_driver_is_started_again_as_often_as_the_backoff_limit_says() -> None:
    world = running({"spec.backoffLimit": 2})
    assert world.get(JOB, DRIVER)["spec"]["backoffLimit"] == 2
    world.end_driver(1, "the head is lost")
    assert "(1 of 3 tries)" in told(world.look(), "DriverRunning")[2]
    world.end_job("Failed", failed=3)
    assert "failed 3 times (backoffLimit is 2)" in told(world.look(), "Ready")[2]
    assert world.get(RAYCLUSTER)


def renew_by_its_own_clock(world: World, off: float) -> None:
    """A driver whose clock is so many seconds ahead of the API server's renews its Lease."""
    world.renew_lease()
    lease = world.get(LEASE, DRIVER)
    lease["spec"]["renewTime"] = later(world.seconds + off).isoformat()
    lease["metadata"]["managedFields"] = [{"manager": "driver", "time": world.now.isoformat()}]
    world.store(lease)


@pytest.mark.parametrize("off", [3600, -3600], ids=["ahead", "behind"])
def test_a_driver_whose_clock_is_an_hour_off_is_neither_idle_nor_late_for_its_first_batch(off: float) -> None:
    limits = {"spec.idleTimeoutSeconds": 1800, "spec.startupDeadlineSeconds": 600}
    world = running({**limits, "spec.driver.checkpoint": {"claimName": "runs"}})
    world.report(4)
    fleet = world.get(FLEET)
    fleet["status"]["progress"]["lastBatchTime"] = later(off + 900).isoformat()
    world.store(fleet)
    for seconds in (1000, 2600):
        world.seconds = seconds
        renew_by_its_own_clock(world, off)
        assert world.look(world.now).orders is None
    # It is idle when it is.
    world.seconds = 2700
    renew_by_its_own_clock(world, off)
    assert told(world.look(world.now), "Suspended")[1] == "IdleTimeout"
