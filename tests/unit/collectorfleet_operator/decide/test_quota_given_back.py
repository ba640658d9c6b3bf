"""When a fleet gives its quota back to Kueue: only after its driver and its pods have ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.collectorfleet_operator.decide.queued import admit, admitted, queued, say, with_quota
from tests.unit.collectorfleet_operator.world import World, kinds, told

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import Phase
from collectorfleet_operator.children.workload import WORKLOAD
from collectorfleet_operator.objects import name_of

CHECKPOINT = {"spec.driver.checkpoint": {"claimName": "runs"}}


def test_an_evicted_fleet_ends_at_a_batch_and_gives_its_quota_back_when_its_pods_are_gone() -> None:
    world = admitted(CHECKPOINT)
    say(world, "Evicted", "True", "Preempted", "Preempted to accommodate a workload of higher priority")
    status = world.look()
    assert status.orders is not None
    assert status.orders.stop_at_batch
    assert status.orders.driver == name_of(world.pods("driver")[0])
    assert told(status, "Admitted") == (
        "False",
        "QuotaTakenBack",
        "Kueue withdraws the fleet's quota (Preempted to accommodate a workload of higher priority)",
    )
    assert told(status, "Ready")[1] == "QuotaTakenBack"
    assert status.phase is Phase.SUSPENDING
    assert world.plan().actions == ()

    world.end_driver(names.EXIT_STOPPED, "stopped: the operator asked the driver to end after its batch")
    assert kinds(world.carry_out()) == ["Delete Job"]
    assert kinds(world.carry_out()) == ["Delete RayCluster"]
    assert set(kinds(world.carry_out())) == {"Delete Pod"}
    world.collect(*world.pods("driver"))
    assert kinds(world.carry_out()) == ["SetStatus Workload"]

    given_back = world.get(WORKLOAD)
    assert given_back["status"]["admission"] is None
    conditions = {one["type"]: one["status"] for one in given_back["status"]["conditions"]}
    assert conditions == {
        "Evicted": "True",
        "QuotaReserved": "False",
        "Admitted": "False",
        "PodsReady": "False",
        "Requeued": "True",
    }
    assert world.plan().actions == ()
    assert told(world.look(), "Admitted")[1] == "WaitingForQuota"

    say(world, "Evicted", "False")
    admit(world)
    assert "Create Job" in kinds(world.carry_out())


def test_a_workload_that_somebody_deletes_ends_the_driver_and_is_made_again() -> None:
    world = admitted(CHECKPOINT)
    world.collect(world.get(WORKLOAD))
    assert told(world.look(), "Admitted") == ("False", "QuotaTakenBack", "its Workload was deleted")
    world.end_driver(names.EXIT_STOPPED)
    assert kinds(world.carry_out()) == ["Delete Job"]
    assert kinds(world.carry_out()) == ["Delete RayCluster"]
    world.collect(*world.all_pods())
    assert kinds(world.carry_out()) == ["Create Workload"]


def test_quota_is_given_back_by_a_fleet_that_is_done_once_its_pods_are_gone() -> None:
    world = admitted()
    world.complete()
    world.look()
    assert kinds(world.carry_out()) == ["Delete RayCluster"]
    assert world.plan().actions == ()
    world.collect(*world.pods("head"), *world.pods("worker"))
    assert kinds(world.carry_out()) == ["Delete Workload"]


@pytest.mark.parametrize("waiting", [queued, with_quota], ids=["without quota", "with quota"])
@pytest.mark.parametrize(
    "edit",
    [{"spec.suspend": True}, {"spec.collectors.resources": {"gpu": 1.5}}],
    ids=["suspended", "invalid"],
)
def test_a_fleet_that_may_not_start_gives_its_quota_back(waiting: Callable[[], World], edit: dict[str, Any]) -> None:
    world = waiting()
    world.edit(edit)
    assert kinds(world.carry_out()) == ["Delete Workload"]
    assert world.plan().actions == ()
