"""A fleet that is suspended: its driver is asked to end, every pod goes, and a resumed one goes on."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.manifests import ABSENT
from tests.unit.collectorfleet_operator.world import DRIVER, World, condition, kinds, later, running, started, told

from collectorfleet_api import names
from collectorfleet_api.conditions.condition import is_true
from collectorfleet_api.v1alpha1 import OperatorStatus, Phase
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.objects import name_of

SUSPEND = {"spec.suspend": True}
CHECKPOINT = {"spec.driver.checkpoint": {"claimName": "runs"}}


def conditions_of(status: OperatorStatus) -> dict[str, tuple[str, str]]:
    return {one.type: (one.status.value, one.reason) for one in status.conditions}


def suspended(changes: dict[str, Any] | None = None) -> World:
    """A fleet that ran, with all that was asked of its driver and of Kubernetes done."""
    world = running(changes)
    world.edit({**(changes or {}), **SUSPEND})
    world.look()
    world.end_driver(names.EXIT_STOPPED, "stopped: the operator asked the driver to end after its batch")
    assert kinds(world.carry_out()) == ["Delete Job"]
    assert kinds(world.carry_out()) == ["Delete RayCluster"]
    world.collect(*world.all_pods())
    return world


def test_a_driver_that_has_delivered_a_batch_is_asked_to_end_and_waited_for() -> None:
    world = running()
    world.edit(SUSPEND)
    status = world.look()
    driver = name_of(world.pods("driver")[0])
    assert status.orders is not None
    assert (status.orders.driver, status.orders.stop_at_batch, status.orders.since) == (driver, True, later(0))
    assert status.phase is Phase.SUSPENDING
    assert told(status, "Ready")[:2] == ("False", "Suspending")
    assert told(status, "Reconciling")[:2] == ("True", "Suspending")
    assert f"driver pod {driver} ends after its current batch" in told(status, "Suspended")[2]
    assert world.plan().actions == ()


def test_the_order_keeps_its_time_and_is_given_up_when_the_driver_does_not_follow() -> None:
    world = running()
    world.edit(SUSPEND)
    world.look()
    world.wait_until(30)
    assert world.look(world.now).orders == world.look().orders
    assert world.plan().again_after is not None
    world.wait_until(600)
    (gone,) = world.plan().actions
    assert gone.why.endswith("its driver has not ended within 600 s (spec.progressDeadlineSeconds)")


def test_the_last_moment_to_wait_for_is_looked_at() -> None:
    world = running()
    world.edit(SUSPEND)
    world.look()
    world.wait_until(600 - 3)
    assert world.plan().again_after == timedelta(seconds=3)


def not_running(world: World) -> None:
    world.set_pod(world.pods("driver")[0], phase="Pending")


def lost(world: World) -> None:
    world.seconds = 40


def without_a_batch(world: World) -> None:
    world.report(4, progress={"batches": 0})


@pytest.mark.parametrize(
    ("hinder", "why"),
    [
        (not_running, "its driver does not run"),
        (lost, "its driver is lost: it does not renew its Lease"),
        (without_a_batch, "it has delivered no batch"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_driver_that_cannot_be_asked_or_has_nothing_to_save_ends_at_once(hinder: Any, why: str) -> None:
    world = running()
    hinder(world)
    world.edit(SUSPEND)
    assert world.look(world.now).orders is None
    (gone,) = world.plan().actions
    assert gone.why == f"Job cheetah-driver: spec.suspend is true; {why}"


def test_a_spec_that_never_ran_is_not_up_to_date() -> None:
    world = World({"spec.suspend": True})
    assert told(world.look(), "UpToDate")[:2] == ("False", "Suspended")
    world.edit({})
    assert told(world.look(), "UpToDate")[:2] == ("False", "Pending")
    world.start()
    assert told(world.look(), "UpToDate")[:2] == ("True", "UpToDate")


def test_everything_is_freed_once_the_driver_has_ended() -> None:
    world = running()
    world.edit(SUSPEND)
    world.look()
    world.end_driver(names.EXIT_STOPPED)
    world.end_job("Failed", failed=1)
    assert kinds(world.carry_out()) == ["Delete Job"]
    status = world.look()
    assert status.orders is None
    assert status.phase is Phase.SUSPENDING
    assert kinds(world.carry_out()) == ["Delete RayCluster"]
    status = world.look()
    assert told(status, "Suspended")[:2] == ("False", "Suspending")
    assert "4 worker" not in told(status, "Suspended")[2]
    assert "6 pods (" in told(status, "Suspended")[2]
    world.collect(*world.all_pods())
    assert world.plan().actions == ()
    status = world.look()
    assert status.phase is Phase.SUSPENDED
    assert conditions_of(status) == {
        "Reconciling": ("False", "Suspended"),
        "Stalled": ("False", "Progressing"),
        "RayClusterReady": ("False", "Suspended"),
        "DriverRunning": ("False", "Suspended"),
        "CollectorsAvailable": ("False", "Suspended"),
        "WeightsFresh": ("Unknown", "Suspended"),
        "Completed": ("False", "Suspended"),
        "UpToDate": ("False", "Suspended"),
        "Suspended": ("True", "Suspended"),
    }


def test_a_driver_that_ended_on_order_did_not_fail_although_its_pod_is_gone() -> None:
    world = running()
    world.end_job("Failed", failed=1)
    job = world.get(JOB, DRIVER)
    said = "Container driver for pod default/x failed with exit code 65 matching FailJob rule at index 0"
    job["status"]["conditions"][0] |= {"reason": "PodFailurePolicy", "message": said}
    world.store(job)
    world.collect(*world.pods("driver"))
    assert kinds(world.carry_out()) == ["Delete Job"]


def test_a_driver_that_ended_on_order_counts_as_no_restart() -> None:
    world = running()
    world.edit(SUSPEND)
    world.look()
    world.end_driver(names.EXIT_STOPPED)
    world.end_job("Failed", failed=1)
    driver = world.look().driver
    assert driver is not None
    assert driver.restarts == 0


def test_a_resumed_fleet_makes_everything_again() -> None:
    world = suspended()
    world.look()
    world.edit({"spec.suspend": False})
    assert {"Create RayCluster", "Create Job"} <= set(kinds(world.carry_out()))
    assert told(world.look(), "Suspended")[:2] == ("False", "NotSuspended")


def test_a_fleet_that_is_resumed_before_its_driver_has_ended_goes_on_with_it() -> None:
    world = running()
    world.edit(SUSPEND)
    world.look()
    world.edit({"spec.suspend": False})
    status = world.look()
    assert status.orders is None
    assert is_true(condition(status, "Ready"))
    assert world.plan().actions == ()


def test_a_driver_that_ended_on_an_order_that_was_taken_back_starts_again() -> None:
    world = running()
    world.edit(SUSPEND)
    world.look(later(1))
    world.edit({"spec.suspend": False})
    world.end_driver(names.EXIT_STOPPED)
    world.end_job("Failed", failed=1)
    assert kinds(world.carry_out()) == ["Delete Job"]
    world.collect(*world.pods("driver"))
    assert kinds(world.carry_out()) == ["Create Job"]


def test_a_fleet_that_is_suspended_from_its_first_day_makes_nothing() -> None:
    world = World(SUSPEND)
    assert world.plan().actions == ()
    status = world.look()
    assert status.phase is Phase.SUSPENDED
    assert told(status, "Suspended") == (
        "True",
        "Suspended",
        "the fleet has no pods; the fleet has delivered no batch yet",
    )


def test_a_start_that_is_suspended_before_its_first_pod_runs_is_taken_back() -> None:
    world = started()
    world.edit(SUSPEND)
    assert kinds(world.carry_out()) == ["Delete Job"]
    assert kinds(world.carry_out()) == ["Delete RayCluster"]


def test_a_completed_fleet_has_nothing_to_suspend() -> None:
    world = running()
    world.end_driver(0)
    world.edit(SUSPEND)
    status = world.look()
    assert status.phase is Phase.COMPLETED
    assert told(status, "Suspended")[:2] == ("False", "Completed")


def test_a_failed_fleet_is_tried_again_by_suspending_and_resuming_it() -> None:
    world = running()
    world.end_driver(64, "no such game")
    world.carry_out()
    world.look()
    world.edit(SUSPEND)
    assert kinds(world.carry_out()) == ["Delete Job"]
    world.collect(*world.all_pods())
    assert world.look().phase is Phase.SUSPENDED
    world.edit({"spec.suspend": False})
    assert "Create Job" in kinds(world.carry_out())


def test_an_invalid_spec_keeps_nobody_from_suspending() -> None:
    world = running()
    world.edit({**SUSPEND, "spec.workers.gpu.perPod": 2, "spec.collectors.resources.gpu": 3.0})
    assert world.seen().problems
    assert world.look().orders is not None
    world.end_driver(names.EXIT_STOPPED)
    world.carry_out()
    world.carry_out()
    world.collect(*world.all_pods())
    status = world.look()
    assert status.phase is Phase.SUSPENDED
    assert told(status, "Stalled")[:2] == ("True", "InvalidSpec")


@pytest.mark.parametrize(
    ("changes", "report", "says"),
    [
        (
            CHECKPOINT,
            {"checkpoint": {"frames": 8000}},
            "after a resume, the fleet continues from its checkpoint at 8000 of 12000 frames",
        ),
        (CHECKPOINT, {}, "the fleet starts over and 12000 frames are lost, because no checkpoint was written"),
        ({}, {}, "the fleet starts over and 12000 frames are lost, because spec.driver.checkpoint is not set"),
        (
            {"spec.driver.train": ABSENT, "spec.output": {"path": "/data"}},
            {},
            "after a resume, the fleet continues after the 12000 frames of its output",
        ),
    ],
    ids=["checkpoint", "none written", "none asked for", "output"],
)
def test_a_suspended_fleet_says_what_resuming_does(changes: dict[str, Any], report: dict[str, Any], says: str) -> None:
    world = suspended(changes)
    world.report(0, desired=4, **report)
    assert told(world.look(), "Suspended")[2].endswith(says)


def test_the_job_of_a_driver_that_ends_on_order_is_not_tried_again() -> None:
    rule, *_ = running().get(JOB, DRIVER)["spec"]["podFailurePolicy"]["rules"]
    assert rule["action"] == "FailJob"
    assert rule["onExitCodes"]["values"] == [names.EXIT_USER_ERROR, names.EXIT_STOPPED]
