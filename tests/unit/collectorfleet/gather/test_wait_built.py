"""Waiting for all collectors: who is missing when the time is over, and why."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.unit.collectorfleet.gather.world import FRAMES, Played

from collectorfleet.gather.built import wait_built
from collectorfleet.gather.shared import Limits
from collectorfleet.gather.state.plan import Plan
from collectorfleet.messages import Placed
from collectorfleet.recovery.failure import ReplaceWithBackoff

HOUR = timedelta(hours=1)
PLAN = Plan(shares=1, frames_per_share=FRAMES, in_order=False, bound=None, total_frames=None)


class Fleet(Played):
    """The first collector is built, and the others wait for room."""

    def __init__(self, collectors: int = 2) -> None:
        failure = ReplaceWithBackoff(budget=1, first_pause=HOUR)
        super().__init__(PLAN, collectors, limits=Limits(HOUR, HOUR, HOUR, min_available=1), failure=failure)
        self.consumer.stage("weights")
        self.turn()
        self.world.build(self.remote("c0"))
        self.turn()

    def missing(self) -> str:
        with pytest.raises(TimeoutError) as raised:
            wait_built(self.consumer.shared, 0)
        return str(raised.value)


def test_one_that_waits_for_room_is_named_and_ready_ones_are_not() -> None:
    fleet = Fleet()
    assert fleet.missing() == (
        "1 of 2 collectors is missing: c1 has not started, because it waits for CPU, GPU, memory or a pod"
    )


def test_one_that_is_built_is_told_from_one_that_waits_for_room() -> None:
    fleet = Fleet()
    fleet.world.messages.append(Placed(fleet.remote("c1").id, "pod-1", "node-1"))
    fleet.turn()
    assert fleet.missing().endswith("missing: c1 builds its environment and policy on pod-1")


def test_one_that_was_lost_is_named_with_its_cause() -> None:
    fleet = Fleet()
    fleet.world.die(fleet.remote("c1"))
    fleet.turn()
    assert fleet.missing().endswith("missing: c1 was lost (it died), and its replacement has not started")


def test_one_that_nothing_replaces_is_not_missing() -> None:
    fleet = Fleet()
    for _ in range(2):
        fleet.world.die(fleet.remote("c1"))
        fleet.turn()
        fleet.turn()
    assert set(wait_built(fleet.consumer.shared, 0)) == {"c0"}


def test_one_that_leaves_stands_in_for_none_that_is_new() -> None:
    fleet = Fleet(collectors=2)
    fleet.world.build(fleet.remote("c1"))
    fleet.turn()
    fleet.consumer.resize(1)
    fleet.gather.collectors.named("c1").in_flight.append(0)  # type: ignore[union-attr]  # so that it stays for now
    fleet.turn()
    fleet.world.die(fleet.remote("c0"))
    fleet.turn()
    assert "c0 was lost" in fleet.missing()


def test_of_many_only_the_first_are_named() -> None:
    fleet = Fleet(collectors=20)
    assert fleet.missing().startswith("19 of 20 collectors are missing: c1 has not started")
    assert fleet.missing().endswith("; and 16 more")
