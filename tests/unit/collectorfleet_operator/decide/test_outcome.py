"""How far a run has come, as the operator sees it."""

from __future__ import annotations

import pytest
from tests.unit.collectorfleet_operator.world import DRIVER, World, running, started

from collectorfleet_api.conditions.outcome import Completed, Failed, Pending, Running
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.decide.outcome import outcome


def test_a_run_is_pending_until_its_driver_is_made() -> None:
    world = World()
    assert outcome(world.seen()) == Pending()
    world.carry_out()
    assert outcome(world.seen()) == Running()


def test_the_driver_of_an_earlier_fleet_of_this_name_is_not_this_ones() -> None:
    world = running()
    world.replace_fleet()
    assert outcome(world.seen()) == Pending()


def test_a_driver_that_is_being_deleted_has_no_outcome() -> None:
    world = running()
    job = world.get(JOB, DRIVER)
    job["metadata"]["deletionTimestamp"] = "2026-07-01T12:00:00Z"
    world.store(job)
    assert outcome(world.seen()) == Pending()


@pytest.mark.parametrize("code", [1, 137], ids=["infrastructure", "killed"])
def test_a_driver_that_is_tried_again_still_runs(code: int) -> None:
    world = running()
    world.end_driver(code)
    assert outcome(world.seen()) == Running()


def test_a_completed_run_stays_completed_without_its_job() -> None:
    world = running()
    world.end_driver(0)
    assert isinstance(outcome(world.seen()), Completed)
    world.look()
    world.collect(world.get(JOB, DRIVER), *world.pods("driver"))
    assert isinstance(outcome(world.seen()), Completed)


@pytest.mark.parametrize("phase", ["Pending", "Failed"])
def test_a_run_whose_tree_is_not_what_the_spec_says_has_failed_by_those_words(phase: str) -> None:
    """The pod says a moment after its container that it failed."""
    world = started({"spec.code": {"archive": {"configMap": "tree", "sha256": "a" * 64}}})
    (driver,) = world.pods("driver")
    world.end_code(driver, 64, "spec.code.archive.sha256: another is asked for")
    (driver,) = world.pods("driver")
    world.set_pod(driver, **{**driver["status"], "phase": phase})
    found = outcome(world.seen())
    assert isinstance(found, Failed)
    assert found.message.startswith("spec.code.archive.sha256: another is asked for; the RayCluster is deleted, Job ")
    assert "to try again, change the spec, or delete the Job" in found.message


@pytest.mark.parametrize("text", [".so()", ".so(", "*** ", " ", ".so.1"])
@pytest.mark.parametrize("code", [1, 139], ids=["failed", "killed"])
def test_an_odd_message_of_a_driver_does_not_delay_the_operator(text: str, code: int) -> None:
    world = running()
    world.end_driver(code, "x" + text * (2_000_000 // len(text)) + "x")  # with backtracking, hours
    world.end_job("Failed")
    assert isinstance(outcome(world.seen()), Failed)


def test_a_failed_run_is_over_until_its_job_is_deleted_or_its_spec_changed() -> None:
    world = running()
    world.end_driver(64, "no such game")
    assert isinstance(outcome(world.seen()), Failed)
    world.edit({"spec.environment": {"factory": "my_envs:other"}})
    assert outcome(world.seen()) == Running()
    world.collect(world.get(JOB, DRIVER), *world.pods("driver"))
    assert outcome(world.seen()) == Pending()
