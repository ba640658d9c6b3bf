"""A fleet whose Workload is deactivated: Kueue gives it no quota until the user changes something."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.collectorfleet_operator.decide.queued import deactivate, label, queued, say, with_quota
from tests.unit.collectorfleet_operator.world import World, kinds, told

from collectorfleet_api import names
from collectorfleet_operator.children.workload import WORKLOAD
from collectorfleet_operator.objects import has_condition


def deactivated() -> World:
    """Return a fleet of 8 collectors whose Workload is deactivated."""
    world = queued({"spec.collectors.replicas": 8})
    deactivate(world)
    say(world, "QuotaReserved", "False", "Deactivated", "The workload is deactivated")
    return world


def test_a_workload_that_was_deactivated_does_not_go_back_into_the_queue() -> None:
    world = with_quota()
    say(world, "Evicted", "True", "Deactivated", "The workload is deactivated")
    assert kinds(world.carry_out()) == ["SetStatus Workload"]
    assert not has_condition(world.get(WORKLOAD), "Requeued")
    assert world.plan().actions == ()


def test_a_fleet_whose_workload_was_deactivated_waits_for_the_user_and_says_so() -> None:
    world = deactivated()
    status, reason, message = told(world.look(), "Admitted")
    assert (status, reason) == ("False", "WorkloadDeactivated")
    assert message.startswith("LocalQueue team: The workload is deactivated; to request quota again, correct the spec")
    assert told(world.look(), "Stalled")[:2] == ("True", "WorkloadDeactivated")
    world.edit({"spec.collectors.replicas": 8, "spec.suspend": True})
    assert kinds(world.carry_out()) == ["Delete Workload"]
    world.edit({"spec.collectors.replicas": 8})
    assert kinds(world.carry_out()) == ["Create Workload"]


@pytest.mark.parametrize(
    "corrected", [{"replicas": 1}, {"replicas": 40}, {"queue": "other"}], ids=["fewer", "more", "queue"]
)
def test_a_corrected_fleet_asks_for_quota_anew_where_the_workload_was_deactivated(corrected: dict[str, Any]) -> None:
    world = deactivated()
    assert world.plan().actions == ()
    world.edit({"spec.collectors.replicas": corrected.get("replicas", 8)})
    if "queue" in corrected:
        label(world, **{names.QUEUE_LABEL: corrected["queue"]})
    assert kinds(world.carry_out()) == ["Delete Workload"]
    assert kinds(world.carry_out()) == ["Create Workload"]
    assert told(world.look(), "Admitted")[1] == "WaitingForQuota"
