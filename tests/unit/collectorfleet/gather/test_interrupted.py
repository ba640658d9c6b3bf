"""What a wait leaves behind that Ctrl-C, a cancelled task or a user's own alarm ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import NoReturn

import pytest
from tests.unit.collectorfleet.gather.world import FRAMES, Played, join_one

from collectorfleet.gather.counters import counters_of
from collectorfleet.gather.shared import Limits
from collectorfleet.gather.state.plan import Plan

HOUR = timedelta(hours=1)
LIMITS = Limits(HOUR, HOUR, HOUR, min_available=1)
ON_POLICY = Plan(shares=1, frames_per_share=FRAMES, in_order=True, bound=0, total_frames=None)
UNBOUNDED = Plan(shares=1, frames_per_share=FRAMES, in_order=False, bound=None, total_frames=None)

Interrupt = type[BaseException]


@pytest.fixture(params=[KeyboardInterrupt, asyncio.CancelledError, TimeoutError])
def error(request: pytest.FixtureRequest) -> Interrupt:
    found: Interrupt = request.param
    return found


class Fleet(Played):
    """One collector that has loaded the first version."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan, collectors=1, limits=LIMITS)
        self.publish()
        join_one(self, "c0")

    def publish(self) -> None:
        self.consumer.stage("weights")
        self.turn()

    def interrupted(self, wait: Callable[[], object], error: Interrupt) -> None:
        def raises(*_: object) -> NoReturn:
            raise error

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.shared, "wait_for", raises)
            with pytest.raises(error):
                wait()
        self.turn()

    def answer(self) -> None:
        """Whatever it is asked for, until it is asked for nothing more."""
        while self.remote("c0").requests:
            self.world.answer(self.remote("c0"))
            self.turn()
            self.turn()

    def batch(self) -> int:
        """The staleness that is recorded of a batch that is there; nothing is waited for."""
        assert self.shared.due
        batch = self.consumer.next()
        assert batch is not None
        assert self.shared.statistics.stalenesses[-1] == batch.staleness
        true = self.gather.version - min(share.version or 0 for share in batch.shares)
        assert batch.staleness == true
        self.turn()
        return true


def test_a_request_for_a_batch_that_was_interrupted_is_resumed_and_no_further_one_is_made(error: Interrupt) -> None:
    fleet = Fleet(ON_POLICY)
    fleet.interrupted(fleet.consumer.next, error)
    fleet.answer()
    stalenesses = []
    for _ in range(4):
        stalenesses.append(fleet.batch())
        assert not fleet.remote("c0").requests  # on-policy, nothing is made ahead of the next publish
        fleet.publish()
        with fleet.shared.changed:
            fleet.consumer.request_batch()
        fleet.turn()
        fleet.answer()
    assert stalenesses == [0, 0, 0, 0]


def test_it_is_resumed_however_often_it_is_interrupted_and_whatever_came_meanwhile(error: Interrupt) -> None:
    fleet = Fleet(ON_POLICY)
    for _ in range(3):
        fleet.interrupted(fleet.consumer.next, error)
    assert len(fleet.remote("c0").requests) == 1
    fleet.answer()
    assert fleet.batch() == 0
    assert not fleet.remote("c0").requests
    assert fleet.shared.statistics.batches == 1


def test_a_version_does_not_overtake_a_batch_that_waits_beyond_the_bound(error: Interrupt) -> None:
    fleet = Fleet(ON_POLICY)
    fleet.interrupted(fleet.consumer.next, error)
    fleet.answer()
    fleet.publish()
    assert fleet.gather.version == 1
    assert fleet.batch() == 0
    assert fleet.gather.version == 2


def test_a_batch_that_waits_gets_older_with_each_version_and_is_recorded_so(error: Interrupt) -> None:
    fleet = Fleet(UNBOUNDED)
    fleet.interrupted(fleet.consumer.next, error)
    fleet.world.answer(fleet.remote("c0"))
    fleet.turn()
    fleet.turn()
    fleet.publish()
    fleet.publish()
    assert fleet.batch() == 2


def test_frames_of_a_batch_that_nobody_took_are_not_counted_as_handed_out(error: Interrupt) -> None:
    fleet = Fleet(ON_POLICY)
    fleet.interrupted(fleet.consumer.next, error)
    fleet.answer()
    assert counters_of(fleet.consumer.shared)["frames"] == 0
    fleet.consumer.close()
    assert fleet.shared.frames_discarded == FRAMES


def test_a_batch_that_nobody_takes_is_no_time_that_the_bound_holds_back(error: Interrupt) -> None:
    fleet = Fleet(UNBOUNDED)
    fleet.interrupted(fleet.consumer.next, error)
    for _ in range(2):
        fleet.world.answer(fleet.remote("c0"))
        fleet.turn()
        fleet.turn()
    assert fleet.shared.due
    fleet.turn(60)
    assert fleet.shared.statistics.throttled_seconds == 0


def test_collection_goes_on_after_an_interrupted_pause(error: Interrupt) -> None:
    fleet = Fleet(ON_POLICY)
    fleet.interrupted(lambda: fleet.consumer.pause(60), error)
    assert not fleet.gather.paused


def test_a_publish_whose_wait_is_interrupted_is_acknowledged(error: Interrupt) -> None:
    fleet = Fleet(ON_POLICY)
    staged = fleet.consumer.stage("weights")
    fleet.interrupted(lambda: fleet.consumer.wait_applied(staged, 60), error)
    fleet.world.load(fleet.remote("c0"))
    fleet.turn()
    assert fleet.gather.collectors.acknowledged == 2
