"""When a fleet is looked at again although nothing happened."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.example_count import examples
from tests.unit.collectorfleet_operator.steps import STEPS, take
from tests.unit.collectorfleet_operator.world import World, later, running, told, wire_time

from collectorfleet_api.conditions.weights import ACKNOWLEDGE_WITHIN
from collectorfleet_api.v1alpha1 import Reason
from collectorfleet_operator.children.role import ROLE
from collectorfleet_operator.decide.deadlines import RETRY_REFUSED_AFTER
from collectorfleet_operator.decide.driver_lost import LOST_AFTER
from collectorfleet_operator.decide.situation import Refused

INSTANT = timedelta(milliseconds=1)


def unacknowledged(seconds_ago: float) -> dict[str, Any]:
    published = wire_time(later(-seconds_ago))
    return {"published": 4, "acknowledged": 3, "lastPublishTime": published}


def test_a_fleet_without_a_driver_waits_for_events_alone() -> None:
    assert World().plan().again_after is None


def test_a_fleet_at_rest_waits_for_news_alone() -> None:
    """Also of a driver that falls silent, which the lists of Leases tell."""
    world = running()
    assert world.plan().again_after is None
    world.seconds = LOST_AFTER.total_seconds() - 1
    assert told(world.look(world.now), "DriverRunning")[0] == "True"
    world.seconds = LOST_AFTER.total_seconds()
    assert told(world.look(world.now), "DriverRunning")[1] == "DriverLost"
    assert world.plan().again_after is None


def test_weights_that_are_not_acknowledged_are_looked_at_when_that_is_late() -> None:
    world = running()
    world.report(4, weights=unacknowledged(seconds_ago=ACKNOWLEDGE_WITHIN.total_seconds() - 7))
    assert world.plan().again_after == timedelta(seconds=7)
    assert told(world.look(), "WeightsFresh")[1] == "Acknowledged"
    assert told(world.look(later(7)), "WeightsFresh")[1] == "AcknowledgementLate"


def test_what_was_refused_is_tried_again_in_every_state_of_a_fleet() -> None:
    refused = [Refused(ROLE, Reason.REFUSED, "exceeded quota")]
    world = running()
    assert world.plan(refused=refused).again_after == RETRY_REFUSED_AFTER
    world.end_driver(0)
    assert world.plan(refused=refused).again_after == RETRY_REFUSED_AFTER
    assert world.plan().again_after is None


def test_the_nearest_of_several_deadlines_counts() -> None:
    world = running()
    world.report(4, weights=unacknowledged(seconds_ago=ACKNOWLEDGE_WITHIN.total_seconds() - 3))
    assert world.plan(refused=[Refused(ROLE, Reason.REFUSED, "quota")]).again_after == timedelta(seconds=3)


def lived(steps: list[tuple[Any, ...]]) -> World:
    """A fleet that ran, and what happened to it then."""
    world = running()
    for step in steps:
        take(world, *step)
        world.carry_out()
    return world


@given(STEPS)
@settings(max_examples=examples(25))
def test_nothing_is_decided_differently_before_a_fleet_is_looked_at_again(steps: list[tuple[Any, ...]]) -> None:
    world = lived(steps)
    before, first, until = world.look(world.now), world.plan(), world.until_told()
    wait = timedelta(days=2) if until is None else until - INSTANT
    world.seconds += wait.total_seconds()
    assert world.look(world.now) == before
    assert world.plan().actions == first.actions


@given(STEPS, st.floats(0, 200))
@settings(max_examples=examples(25))
def test_a_fleet_that_is_looked_at_on_time_is_never_behind(steps: list[tuple[Any, ...]], seconds: float) -> None:
    world = lived(steps)
    end = world.seconds + seconds
    said = world.look(world.now)
    while (again := world.until_told()) is not None and world.seconds + again.total_seconds() <= end:
        world.seconds += again.total_seconds()
        said = world.look(world.now)
    world.seconds = end
    assert world.look(world.now).conditions == said.conditions


@pytest.mark.parametrize("seconds", [0, 39, 61])
def test_looking_again_is_never_asked_for_at_once(seconds: float) -> None:
    world = running()
    world.report(4, weights=unacknowledged(seconds_ago=0))
    world.seconds = seconds
    again = world.plan().again_after
    assert again is None or again > timedelta(0)
