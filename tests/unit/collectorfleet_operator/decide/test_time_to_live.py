"""How long the objects of a run remain after its end."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.unit.collectorfleet_operator.world import DRIVER, kinds, later, running, told

from collectorfleet_api.v1alpha1 import Phase
from collectorfleet_operator.children.driver_job import JOB

AGAIN = "to try again, change the spec, or set spec.suspend to true and back"


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
