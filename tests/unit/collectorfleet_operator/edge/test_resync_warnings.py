"""The fleets that a list of warning Events reports."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.collectorfleet_operator.decide.queued import queued
from tests.unit.collectorfleet_operator.edge.played_lists import listed
from tests.unit.collectorfleet_operator.world import DRIVER, KEY, later, running

from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.decide.events import EVENT
from collectorfleet_operator.edge.errors import RefusedError
from collectorfleet_operator.objects import Key, Object, metadata


def test_a_warning_about_a_child_concerns_its_fleet_when_it_comes_and_when_it_goes() -> None:
    played = listed()
    about = played.lists.warning()
    other = {**about, "involvedObject": {"kind": "Job", "uid": "another's"}}
    played.lists.events = [other]
    assert played.list_warnings() == set()
    played.lists.events = [other, about]
    assert played.list_warnings() == {KEY}
    assert played.list_warnings() == set()
    played.lists.events = [other]
    assert played.list_warnings() == {KEY}


@pytest.mark.parametrize(
    "odd",
    [{}, {"involvedObject": None}, {"involvedObject": [], "message": 3, "series": "x"}],
    ids=["empty", "without a subject", "of wrong types"],
)
def test_an_odd_event_hides_no_other(odd: Object) -> None:
    played = listed()
    played.lists.events = [odd, played.lists.warning()]
    assert played.list_warnings() == {KEY}


def test_warnings_of_one_namespace_are_told_where_those_of_another_are_refused() -> None:
    played = listed()
    # The operator lists this namespace first.
    played.add_copy(FLEET, KEY, namespace="a", uid="other")
    played.add_copy(JOB, DRIVER, namespace="a", uid="other-job")
    played.lists.events = [played.lists.warning()]
    played.lists.refused_in = {(EVENT, "a")}
    with pytest.raises(RefusedError):
        played.list_warnings()
    assert set(played.told) == {KEY}


def test_events_are_not_listed_for_a_fleet_that_waits_in_a_queue() -> None:
    played = listed(queued())
    assert not played.cache.summaries()[KEY].is_settled
    played.lists.refused = {EVENT}
    assert played.list_warnings() == set()


def test_a_warning_that_is_repeated_concerns_its_fleet_once_it_may_be_why_a_condition_is_not_true() -> None:
    world = running()
    world.look(later(-60))
    world.end_driver(1)
    world.look(later(-20))
    played = listed(world)

    def repeated(seconds: float) -> set[Key]:
        played.lists.events = [played.lists.warning(seconds=seconds)]
        return played.list_warnings()

    # The warning is new, and from before the driver ended.
    assert repeated(-50) == {KEY}
    assert repeated(-40) == set()
    # The driver ended at -20 s.
    assert repeated(-10) == {KEY}
    assert repeated(-5) == set()
    assert repeated(0) == set()


def test_a_warning_concerns_its_fleet_once_more_when_what_it_explains_is_not_true_any_more() -> None:
    world = running()
    world.end_driver(1)
    world.look(later(-60))
    played = listed(world)
    played.lists.events = [played.lists.warning(RAYCLUSTER, KEY)]
    assert played.list_warnings() == {KEY}
    world.collect(*world.pods("worker"))
    world.look()
    fleet = world.get(FLEET)
    played.cache.put(FLEET, {**fleet, "metadata": {**metadata(fleet), "resourceVersion": "2000"}})
    assert played.list_warnings() == {KEY}
    assert played.list_warnings() == set()


def test_warnings_about_many_fleets_keep_nobody_waiting() -> None:
    """Other tasks run while the operator searches the warnings of hundreds of fleets in a namespace."""
    played = listed()
    for number in range(300):
        played.add_copy(FLEET, KEY, name=f"fleet-{number}", uid=f"u{number}")
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async def both() -> None:
        beside = asyncio.create_task(others())
        await played.resync.list_warnings()
        beside.cancel()

    asyncio.run(both())
    assert turns >= 300 // 50
