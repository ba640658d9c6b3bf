"""The facts that are read from a Workload of Kueue."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.collectorfleet_operator.decide.queued import admitted
from tests.unit.collectorfleet_operator.world import KEY

from collectorfleet_operator.children.workload import WORKLOAD
from collectorfleet_operator.decide.workload import Workload
from collectorfleet_operator.objects import why_unreadable


def test_quota_for_fewer_pods_than_requested_counts_and_other_pods_count_as_requested() -> None:
    world = admitted()
    stored = world.get(WORKLOAD)
    assignments = [{"name": "workers-collectors", "count": 1, "flavors": {"cpu": "spot", "memory": "spot"}}]
    world.store({**stored, "status": {**stored["status"], "admission": {"podSetAssignments": assignments}}})
    found = world.cache.facts(Workload, KEY)
    assert found is not None
    assert found.counts == {**found.requested, "workers-collectors": 1}
    assert found.flavors == {"spot"}


@pytest.mark.parametrize(
    "status",
    [{"conditions": [1]}, {"admission": {"podSetAssignments": [{}]}}, {"admissionChecks": [{"state": "Pending"}]}],
    ids=["conditions", "assignments", "checks"],
)
def test_a_workload_that_cannot_be_read_says_so_and_fails_in_no_decision(status: dict[str, Any]) -> None:
    world = admitted()
    world.store({**world.get(WORKLOAD), "status": status})
    stored, found = world.cache.get(WORKLOAD, KEY), world.cache.facts(Workload, KEY)
    assert stored is not None
    assert f"cannot read Workload {KEY.name}" in (why_unreadable(stored) or "")
    assert found is not None
    assert not found.is_admitted
