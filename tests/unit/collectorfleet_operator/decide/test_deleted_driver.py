"""Somebody deletes the driver's pod, or Kubernetes evicts it. Its Job would wait before it creates the next pod."""

from __future__ import annotations

import pytest
from tests.unit.collectorfleet_operator.world import DRIVER, World, kinds, later, running

from collectorfleet_api import names
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.decide.actions import Delete
from collectorfleet_operator.objects import annotation, name_of, uid_of

CHECKPOINT = {"spec.driver.checkpoint": {"claimName": "runs"}}
DISRUPTED = {"type": "DisruptionTarget", "status": "True"}


def with_ended_driver(
    code: int = names.EXIT_SIGTERM, *, is_deleted: bool = True, conditions: tuple[dict[str, str], ...] = ()
) -> World:
    world = running(CHECKPOINT)
    world.end_driver(code, "stopped: SIGTERM")
    (pod,) = world.pods("driver")
    if is_deleted:
        gone_at = later(30).strftime("%Y-%m-%dT%H:%M:%SZ")
        pod["metadata"] |= {"deletionTimestamp": gone_at, "deletionGracePeriodSeconds": 30}
    world.set_pod(pod, **pod["status"], conditions=list(conditions))
    return world


@pytest.mark.parametrize(
    ("code", "conditions"),
    [
        pytest.param(names.EXIT_SIGTERM, (), id="deleted by a client"),
        pytest.param(137, (DISRUPTED,), id="evicted, and killed after its grace period"),
    ],
)
def test_a_deleted_driver_gets_a_new_job_that_does_not_wait(code: int, conditions: tuple[dict[str, str], ...]) -> None:
    world = with_ended_driver(code, conditions=conditions)
    before, (pod,) = world.get(JOB, DRIVER), world.pods("driver")
    first, second = world.carry_out()
    assert kinds([first, second]) == ["Delete Job", "Create Job"]
    assert isinstance(first, Delete)
    assert first.force
    assert first.why == (
        f"Job cheetah-driver: its driver pod {name_of(pod)} was deleted, "
        "and the Job would wait before it creates the next pod"
    )
    after = world.get(JOB, DRIVER)
    assert uid_of(after) != uid_of(before)
    assert annotation(after, "collectorfleet.dev/restarts") == "0"
    assert world.plan().actions == ()


def test_a_held_edit_stays_held_when_the_driver_is_deleted() -> None:
    world = with_ended_driver()
    world.edit({"spec.image": "ghcr.io/you/cheetah:2.0", **CHECKPOINT})
    assert kinds(world.carry_out()) == ["Delete Job", "Create Job"]
    again = world.get(JOB, DRIVER)
    assert again["spec"]["template"]["spec"]["containers"][0]["image"] == "ghcr.io/you/cheetah:1.0"
    assert annotation(again, "collectorfleet.dev/generation") == "1"


@pytest.mark.parametrize(
    ("code", "is_deleted", "failed"),
    [
        pytest.param(names.EXIT_SIGTERM, False, None, id="its pod is not deleted"),
        pytest.param(names.EXIT_INFRASTRUCTURE, True, None, id="the Job counts this end"),
        pytest.param(names.EXIT_SIGTERM, True, 1, id="the Job has counted an earlier failure"),
    ],
)
def test_the_job_stays_if(code: int, is_deleted: bool, failed: int | None) -> None:
    world = with_ended_driver(code, is_deleted=is_deleted)
    world.store({**world.get(JOB, DRIVER), "status": {"failed": failed}})
    assert kinds(world.plan().actions) == []


def test_the_driver_of_a_suspended_fleet_gets_no_new_job_when_its_pod_is_deleted() -> None:
    world = with_ended_driver()
    world.edit({"spec.suspend": True, **CHECKPOINT})
    world.look()
    assert "Create Job" not in kinds(world.carry_out())


def test_a_deleted_driver_that_still_writes_its_checkpoint_keeps_its_job() -> None:
    world = with_ended_driver()
    (pod,) = world.pods("driver")
    world.set_pod(pod, phase="Running", containerStatuses=[{"name": "driver", "state": {"running": {}}}])
    assert kinds(world.plan().actions) == []
