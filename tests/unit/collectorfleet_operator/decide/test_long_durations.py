"""Durations longer than the CRD's maximum: a fleet that was stored before the maximum has them, and is managed on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.collectorfleet_operator.decide.test_lost_nodes import evict
from tests.unit.collectorfleet_operator.decide.test_rolling import ROLLING, rolled
from tests.unit.collectorfleet_operator.world import DRIVER, World, running, started, told

from collectorfleet_operator.children.driver_job import JOB

DURATIONS = (
    *("progressDeadlineSeconds", "activeDeadlineSeconds", "startupDeadlineSeconds", "idleTimeoutSeconds"),
    *("ttlSecondsAfterFinished", "driver.livenessDeadlineSeconds"),
)


def no_batch(changes: dict[str, Any]) -> World:
    return started(changes)


def asked_to_end(changes: dict[str, Any]) -> World:
    world = running(changes)
    world.edit({**changes, "spec.suspend": True})
    world.look()
    world.renew_lease()
    return world


def replacing_pods(changes: dict[str, Any]) -> World:
    world = rolled({**changes, **ROLLING})
    world.look()
    world.renew_lease()
    return world


def hung(changes: dict[str, Any]) -> World:
    world = running(changes)
    world.seconds = 90
    return world


def completed(changes: dict[str, Any]) -> World:
    world = running(changes)
    world.complete()
    return world


def completed_without_its_job(changes: dict[str, Any]) -> World:
    world = running()
    world.complete()
    world.look()
    world.cache.remove(JOB, world.get(JOB, DRIVER))
    world.edit(changes)
    return world


@pytest.mark.parametrize("seconds", [999_999_999_999, 2**63 - 1])
@pytest.mark.parametrize(
    "state", [no_batch, running, asked_to_end, replacing_pods, hung, completed, completed_without_its_job]
)
def test_a_duration_longer_than_the_maximum_is_never_over_in_a_stored_fleet(
    state: Callable[[dict[str, Any]], World], seconds: int
) -> None:
    as_long = {f"spec.{field}": seconds for field in DURATIONS}
    world, without = state(as_long), state({"spec.progressDeadlineSeconds": 3_153_600_000})
    assert told(world.look(world.now), "Ready")[:2] == told(without.look(without.now), "Ready")[:2]
    assert [type(one) for one in world.plan().actions] == [type(one) for one in without.plan().actions]


def test_a_pod_on_a_lost_node_with_an_endless_grace_raises_no_error() -> None:
    world = running()
    pod = evict(world, world.pods("worker")[0], grace=5)
    pod["metadata"]["deletionGracePeriodSeconds"] = 2**63 - 1
    world.store(pod)
    assert told(world.look(), "RayClusterReady")[1] == "NodeLost"
    world.plan()
