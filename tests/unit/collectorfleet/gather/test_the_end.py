"""What is still handed out when a run ends, and who hears of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.unit.collectorfleet.gather.world import FRAMES, Played, working

HOUR = timedelta(hours=1)


@pytest.fixture
def fleet() -> Played:
    """One collector that has answered, and its batch is there."""
    fleet = working(HOUR)
    fleet.world.answer(fleet.remote("c0"))
    fleet.turn()
    fleet.turn()
    assert fleet.shared.due
    return fleet


def test_a_batch_that_was_counted_is_handed_out_although_the_run_failed_since(fleet: Played) -> None:
    fleet.consumer.abort(ConnectionError("the head is gone"))
    batch = fleet.take()
    assert batch is not None
    assert batch.frames == fleet.shared.statistics.frames_handed_out == FRAMES
    with pytest.raises(ConnectionError, match="the head is gone"):
        fleet.take()


def test_who_publishes_hears_that_the_run_failed(fleet: Played) -> None:
    fleet.consumer.abort(ConnectionError("the head is gone"))
    with pytest.raises(ConnectionError, match="the head is gone"):
        fleet.consumer.stage("weights")


def test_frames_that_still_wait_are_discarded_once_the_run_is_over(fleet: Played) -> None:
    fleet.take()
    # A share of a second batch is there, and the other one is never answered.
    fleet.gather.plan = replace(fleet.gather.plan, shares=2)
    assert fleet.consumer.request_batch()
    fleet.turn()
    fleet.world.answer(fleet.remote("c0"))
    fleet.turn()
    assert (fleet.shared.statistics.frames_collected, fleet.shared.frames_discarded) == (2 * FRAMES, 0)
    fleet.consumer.close()
    assert fleet.shared.frames_discarded == FRAMES


def test_an_answer_that_comes_with_the_news_of_its_collectors_death_is_discarded_and_asked_for_again(
    fleet: Played,
) -> None:
    fleet.take()
    assert fleet.consumer.request_batch()
    fleet.turn()
    lost = fleet.remote("c0")
    fleet.world.die(lost)
    fleet.world.answer(lost)
    fleet.turn()
    assert fleet.shared.statistics.frames_collected == 2 * FRAMES
    assert fleet.shared.frames_discarded == FRAMES
    assert fleet.gather.admissions.shares_missing == 1
