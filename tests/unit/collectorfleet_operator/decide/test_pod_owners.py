"""The facts that are read from a Job and from a RayCluster."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.collectorfleet_operator.world import DRIVER, KEY, World, running

from collectorfleet_api.v1alpha1 import ConditionType, Reason
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.decide.raycluster import RayCluster
from collectorfleet_operator.edge.observe import UnreadableError


@pytest.mark.parametrize(
    "change",
    [{"status": {"failed": "many"}}, {"status": {"conditions": [1]}}, {"spec": {"backoffLimit": "six"}}],
    ids=["failures", "conditions", "limit"],
)
def test_a_driver_job_that_cannot_be_read_is_named(change: dict[str, Any]) -> None:
    world = running()
    world.store({**world.get(JOB, DRIVER), **change})
    with pytest.raises(UnreadableError, match=f"cannot read Job {DRIVER.name}: "):
        world.seen()


def test_a_raycluster_of_somebody_else_without_worker_groups_is_not_the_fleets() -> None:
    world = World()
    identity = {"name": KEY.name, "namespace": KEY.namespace, "labels": {"collectorfleet.dev/fleet": KEY.name}}
    world.store({"apiVersion": RAYCLUSTER.api_version, "kind": RAYCLUSTER.kind, "metadata": identity, "spec": {}})
    found = world.cache.facts(RayCluster, KEY)
    assert found is not None
    assert (found.sizes, found.templates, found.controller) == ({}, {}, None)
    condition = world.look().condition(ConditionType.RAY_CLUSTER_READY)
    assert condition is not None
    assert condition.reason == Reason.PENDING
