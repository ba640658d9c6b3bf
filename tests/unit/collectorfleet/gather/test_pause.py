"""A pause waits until nothing is under way, and no longer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta

import pytest
from tests.unit.collectorfleet.gather.world import Played, Remote, World, working

HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    "ends",
    [
        pytest.param(World.answer, id="answered"),
        pytest.param(World.lose_answer, id="an answer that cannot be read"),
        pytest.param(World.die, id="lost with its collector"),
    ],
)
def test_whoever_pauses_hears_of_the_last_request_however_it_ends(ends: Callable[[World, Remote], object]) -> None:
    fleet = working(HOUR)
    heard = _waiting(fleet)
    ends(fleet.world, fleet.remote("c0"))
    fleet.turn()
    assert heard.wait(10)


def _waiting(fleet: Played) -> threading.Event:
    """Is set once a pause has come to its end, which it does when it is told and looks."""
    begun, over = threading.Event(), threading.Event()

    def pause() -> None:
        with fleet.shared.changed:
            begun.set()
            fleet.consumer.pause(60)
        over.set()

    threading.Thread(target=pause, daemon=True).start()
    assert begun.wait(10)
    with fleet.shared.changed:  # it waits by now
        assert fleet.gather.paused
    return over


def test_an_interrupted_pause_leaves_a_fleet_paused_that_was_paused_before() -> None:
    fleet = working(timedelta(seconds=60))
    fleet.world.answer(fleet.remote("c0"))
    fleet.turn()
    assert fleet.consumer.pause(0.0)
    fleet.gather.collectors.busy += 1
    assert not fleet.consumer.pause(0.0)
    assert fleet.consumer.paused
