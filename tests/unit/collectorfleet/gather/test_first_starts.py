"""What follows from which collector of its slot one is; and the driver's warning of environments that have one seed."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from tests.unit.collectorfleet.gather.world import Played

from collectorfleet.gather.counters import counters_of, restore
from collectorfleet.gather.shared import Limits
from collectorfleet.gather.state.plan import Plan

HOUR = timedelta(hours=1)


def a_fleet(resumed: Mapping[str, Any] | None = None) -> Played:
    """Of two collectors that work, each on a request; it continues what was ``resumed``."""
    fleet = Played(
        Plan(shares=2, frames_per_share=10, in_order=True, bound=0, total_frames=None),
        collectors=2,
        limits=Limits(HOUR, HOUR, HOUR, min_available=1),
    )
    if resumed is not None:
        restore(fleet.consumer.shared, resumed)
    fleet.consumer.stage("weights")
    fleet.turn()
    for remote in fleet.world.alive.values():
        fleet.world.build(remote)
    fleet.turn()
    fleet.turn()
    for remote in fleet.world.alive.values():
        fleet.world.load(remote)
    fleet.turn()
    fleet.consumer.request_batch()
    fleet.turn()
    return fleet


def generations(fleet: Played) -> dict[str, int]:
    return {remote.id.name: remote.id.generation for remote in fleet.world.alive.values()}


def lose(fleet: Played, *names: str) -> None:
    """One after the other, each of which is replaced before the next is lost."""
    for name in names:
        fleet.world.die(fleet.remote(name))
        fleet.turn()
        fleet.turn(120.0)


@pytest.mark.parametrize("order", [("c0", "c1", "c0"), ("c1", "c0", "c0"), ("c0", "c0", "c1")])
def test_generations_do_not_depend_on_the_order_in_which_collectors_are_lost(order: tuple[str, ...]) -> None:
    fleet = a_fleet()
    assert generations(fleet) == {"c0": 0, "c1": 0}
    lose(fleet, *order)
    assert generations(fleet) == {"c0": 2, "c1": 1}


def test_a_run_that_goes_on_has_generations_of_its_own() -> None:
    before = a_fleet()
    lose(before, "c0", "c1", "c0")
    resumed = a_fleet(resumed=counters_of(before.consumer.shared))
    assert min(generations(resumed).values()) > max(generations(before).values())


def test_the_driver_warns_once_of_collectors_that_begin_alike(caplog: pytest.LogCaptureFixture) -> None:
    fleet = a_fleet()
    for name in ("c0", "c1"):
        fleet.world.answer(fleet.remote(name), first_starts="equal")
    with caplog.at_level(logging.WARNING):
        fleet.turn()
    assert [record.message.partition(" began")[0] for record in caplog.records] == [
        "environment: the first episodes of c0 and c1"
    ]
