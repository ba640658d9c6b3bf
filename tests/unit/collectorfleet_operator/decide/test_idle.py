"""The idle timeout: which fleet is idle, and how the operator suspends it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.unit.collectorfleet_operator.world import DRIVER, kinds, later, running, told

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import Phase
from collectorfleet_operator.children.driver_job import JOB


def test_a_driver_that_follows_after_a_while_is_not_idle_before_its_first_batch() -> None:
    world = running({"spec.idleTimeoutSeconds": 600, "spec.driver.checkpoint": {"claimName": "runs"}})
    world.wait_until(700)
    world.replace_driver_pod()
    world.renew_lease()
    world.report(0, at=world.now, last_batch=later(0), driverIncarnation=2)
    status = world.look(world.now)
    assert status.orders is None
    assert told(status, "Suspended")[1] == "NotSuspended"


@pytest.mark.parametrize(
    "evaluation",
    [{"runningVersion": 7}, {"awaitedVersion": 7}],
    ids=["the evaluation runs", "no evaluator is ready"],
)
def test_a_fleet_that_waits_for_its_last_evaluation_is_not_idle(evaluation: dict[str, int]) -> None:
    world = running({"spec.idleTimeoutSeconds": 60, "spec.driver.checkpoint": {"claimName": "runs"}})
    world.report(4, evaluation=evaluation)
    world.wait_until(600)
    assert world.look(world.now).orders is None
    world.report(4, evaluation={})
    world.wait_until(600)
    assert world.look(world.now).orders is not None


def test_a_fleet_that_idles_after_an_evaluation_is_noticed_without_news() -> None:
    world = running({"spec.idleTimeoutSeconds": 60, "spec.driver.checkpoint": {"claimName": "runs"}})
    world.report(4, evaluation={"runningVersion": 7})
    world.wait_until(59)
    assert world.plan().again_after == timedelta(seconds=1)
    world.wait_until(60)
    assert world.look(world.now).orders is None
    # The end of an evaluation is no news, so it may be missed.
    assert world.plan().again_after == timedelta(seconds=30)
    world.report(4, evaluation={})
    world.wait_until(90)
    assert world.look(world.now).orders is not None


def test_without_an_idle_timeout_nobody_looks_for_the_end_of_an_evaluation() -> None:
    world = running()
    world.report(4, evaluation={"runningVersion": 7})
    assert world.plan().again_after is None


def test_an_idle_fleet_is_suspended_by_asking_its_driver() -> None:
    world = running({"spec.idleTimeoutSeconds": 1800, "spec.driver.checkpoint": {"claimName": "runs"}})
    world.report(4, checkpoint={"frames": 12000})
    world.wait_until(1790)
    assert world.look(world.now).orders is None
    assert world.plan().again_after == timedelta(seconds=10)
    world.wait_until(1800)
    assert world.plan().actions == ()
    status = world.look(world.now)
    assert status.orders is not None
    assert told(status, "Suspended")[:2] == ("False", "IdleTimeout")
    assert "the driver handed out no batch for 1800 s (spec.idleTimeoutSeconds)" in told(status, "Suspended")[2]
    world.end_driver(names.EXIT_STOPPED)
    # A batch that arrives now does not matter, because the driver has ended.
    world.report(4, at=world.now, checkpoint={"frames": 12000})
    assert kinds(world.carry_out()) == ["Delete Job"]
    assert kinds(world.carry_out()) == ["Delete RayCluster"]
    world.collect(*world.all_pods())
    status = world.look(world.now)
    assert status.phase is Phase.SUSPENDED
    assert told(status, "Suspended")[:2] == ("True", "IdleTimeout")
    assert "the fleet continues from its checkpoint at 12000 of 12000 frames" in told(status, "Suspended")[2]
    assert world.plan().actions == ()
    assert world.look(world.now) == status


def test_an_idle_driver_that_hangs_is_ended_once_the_status_says_so() -> None:
    world = running({"spec.idleTimeoutSeconds": 1800})
    world.seconds = 1800
    assert world.plan().actions == ()
    world.look(world.now)
    (gone,) = world.carry_out()
    assert "the driver handed out no batch for 1800 s" in gone.why
    assert "its driver is lost" in gone.why


def test_any_change_of_the_spec_resumes_an_idle_fleet_and_its_clock_begins_anew() -> None:
    world = running({"spec.idleTimeoutSeconds": 1800})
    world.wait_until(1800)
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
    # The stored report is from the driver before the present one.
    assert told(world.look(later(3000)), "Suspended")[1] == "NotSuspended"
