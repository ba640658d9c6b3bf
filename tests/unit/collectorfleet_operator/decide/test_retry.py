"""The edits after which a failed run is tried again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from tests.unit.collectorfleet_operator.world import DRIVER, NOON, World, kinds, running

from collectorfleet_api.v1alpha1 import Phase
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.decide.actions import Action

LIMIT = {"spec.activeDeadlineSeconds": 3600}
EXCEEDED = pytest.mark.parametrize("exceeded", [False, True], ids=["failed", "deadline exceeded"])
# A running fleet follows these edits without a restart.
FOLLOWED = {
    "scaled": {"spec.collectors": {"replicas": 3}},
    "whenFinished": {"spec.whenFinished": "Keep"},
    "ttlSecondsAfterFinished": {"spec.ttlSecondsAfterFinished": 900},
    "updateStrategy": {"spec.updateStrategy": {"type": "RollingUpdate"}},
    "progressDeadlineSeconds": {"spec.progressDeadlineSeconds": 99},
}


def tidied_up(changes: dict[str, Any], *, exceeded: bool = False) -> World:
    """Return a failed fleet whose children are deleted. It failed at once, or exceeded a deadline of 3600 s."""
    world = running({"spec.ttlSecondsAfterFinished": 600, **changes})
    world.look()
    if exceeded:
        world.wait_until(3600)
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


@EXCEEDED
@pytest.mark.parametrize("edit", FOLLOWED.values(), ids=FOLLOWED)
def test_a_failed_run_is_not_tried_again_for_an_edit_of_what_it_does_not_execute(
    edit: dict[str, Any], exceeded: bool
) -> None:
    world = tidied_up(LIMIT, exceeded=exceeded)
    world.edit({"spec.ttlSecondsAfterFinished": 600, **LIMIT, **edit})
    assert world.plan().actions == ()
    status = world.look(world.now)
    assert status.phase is Phase.FAILED
    assert status.observed_generation == 2
    # The next edit of such a field starts no try either.
    world.edit({"spec.ttlSecondsAfterFinished": 601, **LIMIT, **edit})
    assert world.plan().actions == ()


@EXCEEDED
def test_a_failed_run_is_tried_again_for_an_edit_of_what_it_executes(exceeded: bool) -> None:
    world = tidied_up(LIMIT, exceeded=exceeded)
    world.edit({**LIMIT, "spec.policy": {"factory": "my_policy:other"}})
    assert "Create Job" in kinds(world.carry_out())


@EXCEEDED
def test_another_deadline_is_another_try_only_for_a_run_that_missed_its_own(exceeded: bool) -> None:
    world = tidied_up(LIMIT, exceeded=exceeded)
    world.edit({"spec.activeDeadlineSeconds": 7200})
    assert ("Create Job" in kinds(world.plan().actions)) is exceeded


def test_a_failure_that_an_earlier_release_recorded_is_tried_again_by_generation() -> None:
    world = tidied_up({})
    fleet = world.get(FLEET)
    del fleet["status"]["driver"]["specHash"]
    world.store(fleet)
    assert world.plan().actions == ()
    world.edit({"spec.collectors": {"replicas": 3}})
    assert "Create Job" in kinds(world.plan().actions)


def test_deleting_the_job_of_a_failed_fleet_is_another_try() -> None:
    world = running()
    world.fail()
    world.carry_out()
    world.look()
    world.collect(world.get(JOB, DRIVER), *world.all_pods())
    assert kinds(world.carry_out()) == ["Create Job", "Create RayCluster"]


def failed(minutes_after: int) -> Sequence[Action]:
    """Return the actions for a failed run whose code changed this number of minutes after the run began."""
    world = running({"spec.code": {"configMap": "code"}})
    world.fail("NameError: name 'gym' is not defined")
    world.look()
    return world.plan(code_changed_at=NOON + timedelta(minutes=minutes_after)).actions


def test_a_failed_run_whose_code_was_mended_is_tried_again() -> None:
    (gone,) = failed(5)
    assert gone.why == "Job cheetah-driver: it failed, and the ConfigMap of its code has changed since the run began"
    assert kinds(failed(-5)) == ["Delete RayCluster"]


def test_a_mended_code_is_another_try_for_a_run_whose_job_was_tidied_up() -> None:
    world = running({"spec.code": {"configMap": "code"}, "spec.ttlSecondsAfterFinished": 0})
    job = world.get(JOB, DRIVER)
    world.end_driver(64, "NameError: name 'gym' is not defined")
    world.end_job("Failed", startTime="2026-07-01T12:00:00Z")
    world.look()
    world.collect(job, *world.pods("driver"), world.get(RAYCLUSTER), *world.pods("head"), *world.pods("worker"))
    assert world.plan().actions == ()
    assert "Create Job" in kinds(world.plan(code_changed_at=NOON + timedelta(minutes=5)).actions)
