"""A driver that the operator ends before its last checkpoint keeps its collectors until it has ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.manifests import ABSENT
from tests.unit.collectorfleet_operator.decide.queued import admitted, say
from tests.unit.collectorfleet_operator.world import DRIVER, KEY, NOON, World, kinds, later, running, told, wire_time

from collectorfleet_api import names
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.raycluster import RAYCLUSTER

CHECKPOINT = {"spec.driver.checkpoint": {"claimName": "runs"}}


def evicted(changes: dict[str, Any]) -> World:
    """A fleet whose quota Kueue takes back."""
    world = admitted(changes)
    say(world, "Evicted", "True", "Preempted", "Preempted to accommodate a workload of higher priority")
    return world


def suspended(changes: dict[str, Any]) -> World:
    world = running(changes)
    world.edit({**changes, "spec.suspend": True})
    return world


def out_of_time(changes: dict[str, Any]) -> World:
    """A fleet that runs longer than its spec allows."""
    return running({**changes, "spec.activeDeadlineSeconds": 600})


CAUSES = pytest.mark.parametrize("cause", [evicted, suspended, out_of_time], ids=lambda one: one.__name__)


def ended(cause: Callable[[dict[str, Any]], World], changes: dict[str, Any]) -> World:
    """A fleet whose driver has not ended in time: the operator has deleted its Job, and the driver gets SIGTERM."""
    world = cause(changes)
    job = world.get(JOB, DRIVER)
    job["metadata"]["finalizers"] = ["foregroundDeletion"]  # the Job exists until its pod is gone
    world.store(job)
    world.look()
    world.wait_until(600)
    world.look(world.now)
    assert "Delete Job" in kinds(world.carry_out())
    return world


def has_collectors(world: World) -> bool:
    return world.cache.get(RAYCLUSTER, KEY) is not None


@CAUSES
def test_a_driver_that_gets_sigterm_keeps_its_collectors_until_it_has_ended(
    cause: Callable[[dict[str, Any]], World],
) -> None:
    world = ended(cause, CHECKPOINT)
    assert world.plan().actions == ()
    assert has_collectors(world)
    world.end_driver(names.EXIT_SIGTERM)
    world.carry_out()
    assert not has_collectors(world)


@CAUSES
def test_the_frames_of_an_output_are_kept_as_a_checkpoint_is(cause: Callable[[dict[str, Any]], World]) -> None:
    world = ended(cause, {"spec.driver.train": ABSENT, "spec.output": {"path": "/data"}})
    assert world.plan().actions == ()


@CAUSES
def test_a_driver_whose_job_is_gone_keeps_its_collectors_too(cause: Callable[[dict[str, Any]], World]) -> None:
    world = ended(cause, CHECKPOINT)
    (driver,) = world.pods("driver")
    driver["metadata"] |= {"deletionTimestamp": wire_time(later(720)), "deletionGracePeriodSeconds": 120}
    world.store(driver)
    world.collect(world.get(JOB, DRIVER))
    world.carry_out()
    assert has_collectors(world)
    world.collect(driver)
    world.carry_out()
    assert not has_collectors(world)


def test_a_driver_of_another_spec_keeps_its_collectors_until_it_has_ended() -> None:
    world = ended(suspended, CHECKPOINT)
    world.edit({**CHECKPOINT, "spec.image": "example.com/other:1"})
    world.carry_out()
    assert has_collectors(world)
    world.end_driver(names.EXIT_SIGTERM)
    world.carry_out()
    assert not has_collectors(world)


@CAUSES
def test_a_driver_that_gave_its_lease_back_is_looked_at_again(cause: Callable[[dict[str, Any]], World]) -> None:
    world = ended(cause, CHECKPOINT)
    (driver,) = world.pods("driver")
    running_since = [{"name": "driver", "state": {"running": {"startedAt": wire_time(NOON)}}}]
    world.store({**driver, "status": {**driver["status"], "containerStatuses": running_since}})
    world.give_lease_back()
    assert world.plan().actions == ()
    again = world.plan().again_after
    assert again is not None
    world.seconds += again.total_seconds()
    world.carry_out()
    assert not has_collectors(world)


def test_the_status_says_that_the_collectors_end_after_the_driver() -> None:
    world = ended(out_of_time, CHECKPOINT)
    status = world.look(world.now)
    assert "; its collectors end after the driver" in told(status, "CollectorsAvailable")[2]
    assert " is deleted after the driver's end, because " in told(status, "RayClusterReady")[2]
    world.end_driver(names.EXIT_SIGTERM)
    status = world.look(world.now)
    assert "; its collectors have ended" in told(status, "CollectorsAvailable")[2]
    assert " is deleted because " in told(status, "RayClusterReady")[2]


@CAUSES
def test_a_driver_without_a_checkpoint_keeps_nothing(cause: Callable[[dict[str, Any]], World]) -> None:
    world = ended(cause, {})
    world.carry_out()
    assert not has_collectors(world)


def lose_its_node(world: World) -> None:
    (driver,) = world.pods("driver")
    lost = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"}
    driver["metadata"] |= {"deletionTimestamp": wire_time(world.now), "deletionGracePeriodSeconds": 120}
    world.store({**driver, "status": {**driver["status"], "conditions": [lost]}})


def lose_its_lease(world: World) -> None:
    world.seconds += 60


@CAUSES
@pytest.mark.parametrize("lose", [lose_its_node, lose_its_lease], ids=lambda one: one.__name__)
def test_a_lost_driver_keeps_nothing(cause: Callable[[dict[str, Any]], World], lose: Callable[[World], None]) -> None:
    world = ended(cause, CHECKPOINT)
    lose(world)
    world.carry_out()
    assert not has_collectors(world)
