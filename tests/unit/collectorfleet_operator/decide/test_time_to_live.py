"""How long the objects of a run remain after its end."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.unit.collectorfleet_operator.world import DRIVER, World, kinds, later, running, started, told, wire_time

from collectorfleet_api.v1alpha1 import Phase
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.raycluster import RAYCLUSTER

AGAIN = "to try again, change the spec, or set spec.suspend to true and back"
KEPT = {"spec.whenFinished": "Keep", "spec.ttlSecondsAfterFinished": 600}


def late(deadline: str, changes: dict[str, Any]) -> World:
    """Return a fleet that has exceeded this deadline of 300 s, and whose status says so."""
    world = started({f"spec.{deadline}": 300, **changes})
    world.look()
    world.seconds = 300
    world.look(world.now)
    return world


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


@pytest.mark.parametrize("deadline", ["activeDeadlineSeconds", "startupDeadlineSeconds"])
def test_what_is_kept_of_a_run_that_missed_its_deadline_is_deleted_in_time(deadline: str) -> None:
    world = late(deadline, KEPT)
    assert world.look(world.now).driver.expires == later(900)  # type: ignore[union-attr]
    world.seconds = 310
    # The Job has no end time, also while it is being deleted.
    job = world.get(JOB, DRIVER)
    job["metadata"]["deletionTimestamp"] = wire_time(world.now)
    world.store(job)
    assert world.look(world.now).driver.expires == later(900)  # type: ignore[union-attr]
    world.collect(job, *world.pods("driver"))
    assert world.look(world.now).driver.expires == later(900)  # type: ignore[union-attr]
    assert world.plan().actions == ()
    assert world.plan().again_after == timedelta(seconds=590)
    world.edit({f"spec.{deadline}": 300, **KEPT, "spec.progressDeadlineSeconds": 99})
    assert world.look(world.now).driver.expires == later(900)  # type: ignore[union-attr]
    world.seconds = 900
    assert kinds(world.carry_out()) == ["Delete RayCluster"]
    assert world.look(world.now).phase is Phase.FAILED
    assert world.plan().actions == ()


def test_a_time_to_live_that_came_after_a_missed_deadline_begins_with_the_edit() -> None:
    world = late("activeDeadlineSeconds", {"spec.whenFinished": "Keep"})
    assert kinds(world.carry_out()) == ["Delete Job"]
    world.collect(*world.pods("driver"))
    assert world.look(world.now).driver.expires is None  # type: ignore[union-attr]
    world.seconds = 1000
    world.edit({"spec.activeDeadlineSeconds": 300, **KEPT})
    assert world.look(world.now).driver.expires == later(1600)  # type: ignore[union-attr]
    world.seconds = 1600
    assert kinds(world.carry_out()) == ["Delete RayCluster"]


@pytest.mark.parametrize("is_told", [True, False], ids=["told", "not told"])
def test_another_try_after_a_missed_deadline_has_its_own_time_to_live(is_told: bool) -> None:
    world = late("activeDeadlineSeconds", KEPT)
    assert kinds(world.carry_out()) == ["Delete Job"]
    world.collect(*world.all_pods(), world.get(RAYCLUSTER))
    world.look(world.now)
    world.edit({"spec.activeDeadlineSeconds": 301, **KEPT})
    world.start()
    if is_told:
        assert world.look(world.now).driver.expires is None  # type: ignore[union-attr]
    job = world.get(JOB, DRIVER)
    world.store({**job, "status": {"startTime": wire_time(world.now)}})
    world.wait_until(800)
    assert world.look(world.now).driver.expires == later(1400)  # type: ignore[union-attr]


@pytest.mark.parametrize("code", [0, 64], ids=["completed", "failed"])
def test_objects_that_are_gone_are_not_said_to_be_kept(code: int) -> None:
    world = running(KEPT)
    world.end_driver(code, "no such game")
    world.end_job("Failed" if code else "Complete", completionTime="2026-07-01T12:00:00Z")
    told_of = told(world.look(), "Completed")[2]
    assert "the RayCluster is kept (spec.whenFinished), Job cheetah-driver " in told_of
    assert " kept for " in told_of
    world.seconds = 600
    world.carry_out()
    assert world.cache.get(JOB, DRIVER) is None
    finished = f"no such game; {AGAIN}" if code else "the driver finished after 12000 frames in 3 batches"
    assert told(world.look(world.now), "Completed")[2] == finished
    world.seconds = 700
    assert told(world.look(world.now), "Completed")[2] == finished


def test_a_raycluster_is_said_to_be_kept_until_it_is_gone() -> None:
    world = running(KEPT)
    world.complete()
    world.look()
    world.collect(world.get(JOB, DRIVER), *world.pods("driver"))
    finished = "the driver finished after 12000 frames in 3 batches"
    assert told(world.look(), "Completed")[2] == f"{finished}; the RayCluster is kept (spec.whenFinished)"
    world.collect(world.get(RAYCLUSTER))
    assert told(world.look(), "Completed")[2] == finished


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


@pytest.mark.parametrize(("code", "how"), [(0, "Complete"), (64, "Failed")], ids=["completed", "failed"])
def test_the_cluster_is_freed_and_the_job_kept(code: int, how: str) -> None:
    world = running()
    world.end_driver(code)
    world.end_job(how)
    assert kinds(world.carry_out()) == ["Delete RayCluster"]
    assert world.carry_out() == ()


def test_tidying_up_the_job_of_a_completed_fleet_starts_nothing() -> None:
    world = running()
    world.complete()
    world.carry_out()
    world.look()
    world.collect(world.get(JOB, DRIVER), *world.pods("driver"))
    assert world.carry_out() == ()
