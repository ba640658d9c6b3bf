"""A driver that was stopped for a while: its collectors are not to blame."""

from __future__ import annotations

from datetime import timedelta

from tests.unit.collectorfleet.gather.world import working

MINUTE = timedelta(minutes=1)


def test_a_driver_that_was_away_for_an_hour_waits_for_what_is_still_on_its_way() -> None:
    fleet = working(MINUTE)
    fleet.clock.now += 3600
    fleet.turn()
    fleet.turn(seconds=40)
    assert not fleet.world.stopped
    fleet.world.answer(fleet.remote("c0"))
    fleet.turn()
    fleet.turn()
    assert fleet.take() is not None


def test_who_hangs_while_the_driver_is_there_is_retired_in_time() -> None:
    fleet = working(MINUTE)
    hung = fleet.remote("c0").id
    fleet.turn(seconds=59)
    assert hung not in fleet.world.stopped
    fleet.turn(seconds=2)
    assert hung in fleet.world.stopped
