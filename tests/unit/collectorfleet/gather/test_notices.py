"""Warnings in the driver's log: what collectors found, and what a new collector does not have."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta

import pytest
from tests.unit.collectorfleet.gather.world import FRAMES, Played

from collectorfleet.gather.shared import Limits
from collectorfleet.gather.state.plan import Plan
from collectorfleet.messages import Started

HOUR = timedelta(hours=1)
FOUND = "the policy reads hidden"


class Told(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@pytest.fixture
def warnings() -> Iterator[list[str]]:
    told, logger = Told(), logging.getLogger("collectorfleet")
    logger.addHandler(told)
    yield told.messages
    logger.removeHandler(told)


def a_fleet() -> Played:
    fleet = Played(
        Plan(shares=2, frames_per_share=FRAMES, in_order=True, bound=0, total_frames=None),
        collectors=2,
        limits=Limits(HOUR, HOUR, HOUR, min_available=1),
        has_weights=False,
    )
    fleet.turn()
    return fleet


def test_what_several_collectors_find_is_said_once(warnings: list[str]) -> None:
    fleet = a_fleet()
    for remote in fleet.world.alive.values():
        fleet.world.messages.append(Started(remote.id, "pod", 1, findings=(FOUND,)))
    fleet.turn()
    assert warnings == [f"c0: {FOUND}"]


def test_a_collector_that_comes_after_a_call_of_map_fn_is_named_with_what_it_lacks(warnings: list[str]) -> None:
    fleet = a_fleet()
    for remote in list(fleet.world.alive.values()):
        fleet.world.build(remote)
    fleet.turn()
    fleet.consumer.note_mapped("env.set_level")
    fleet.consumer.note_mapped("env.set_level")
    fleet.consumer.note_mapped("env.set_friction")
    lost = fleet.remote("c1")
    fleet.world.die(lost)
    fleet.turn()
    fleet.turn(60.0)
    assert fleet.remote("c1").id != lost.id
    warnings.clear()
    fleet.world.build(fleet.remote("c1"))
    fleet.turn()
    assert warnings == [
        (
            "c1 was built after map_fn called env.set_level, env.set_friction, so c1 does not have their changes; "
            "call these methods again"
        )
    ]


def test_a_collector_of_a_fleet_without_calls_is_nothing_to_warn_of(warnings: list[str]) -> None:
    fleet = a_fleet()
    for remote in fleet.world.alive.values():
        fleet.world.build(remote)
    fleet.turn()
    assert warnings == []
