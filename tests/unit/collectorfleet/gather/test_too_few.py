"""When too few collectors are left, and how few those are."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import pytest
from tests.unit.collectorfleet.gather.world import FRAMES, Played

from collectorfleet.errors import TooFewCollectors
from collectorfleet.gather.shared import Limits
from collectorfleet.gather.state.plan import Plan
from collectorfleet.recovery.failure import GiveUp, Loss

MINUTE = timedelta(minutes=1)


@dataclass
class Never:
    def decide(self, loss: Loss) -> GiveUp:
        return GiveUp(f"{loss.collector} had its chance")


def three(min_available: int) -> Played:
    """Three collectors that are there."""
    fleet = Played(
        Plan(shares=1, frames_per_share=FRAMES, in_order=False, bound=None, total_frames=None),
        collectors=3,
        limits=Limits(MINUTE, MINUTE, MINUTE, min_available=min_available),
        has_weights=False,
        failure=Never(),
    )
    fleet.turn()
    for remote in fleet.world.alive.values():
        fleet.world.build(remote)
    fleet.turn()
    return fleet


@pytest.fixture
def fleet() -> Played:
    """Two of three collectors, of which two are enough; the third is lost for good."""
    fleet = three(min_available=2)
    fleet.world.die(fleet.remote("c0"))
    fleet.turn()
    assert fleet.gather.collectors.available == 2
    return fleet


def test_enough_are_enough(fleet: Played) -> None:
    fleet.turn()
    assert fleet.consumer.request_batch()


def test_one_more_that_is_lost_for_good_ends_the_run_with_the_first_cause(fleet: Played) -> None:
    fleet.world.die(fleet.remote("c1"))
    fleet.turn()
    with pytest.raises(TooFewCollectors, match=r"only 1 of 3 collectors left .*is 2.*first cause, c0: it died"):
        fleet.consumer.request_batch()


def test_how_few_are_enough_can_change_while_it_runs(fleet: Played) -> None:
    fleet.consumer.resize(3, min_available=3)
    fleet.turn()
    with pytest.raises(TooFewCollectors, match=r"only 2 of 3 collectors left .*minAvailable is 3"):
        fleet.consumer.request_batch()


def test_what_it_is_scaled_up_to_is_missed_once_it_was_there() -> None:
    fleet = three(min_available=3)
    fleet.consumer.resize(6, min_available=6)
    fleet.turn(61)
    fleet.world.die(fleet.remote("c0"))
    fleet.turn()
    fleet.turn(61)
    with pytest.raises(TooFewCollectors, match=r"only 2 of 6 collectors available for 6\d s \(minAvailable is 3\)"):
        fleet.consumer.request_batch()


def test_more_than_there_are_to_be_counts_as_all_of_them(fleet: Played) -> None:
    fleet.consumer.resize(1, min_available=3)
    fleet.turn()
    assert fleet.consumer.request_batch()


@pytest.mark.parametrize("collectors", [1, 2])
def test_a_collector_is_replaced_while_the_first_weights_wait_for_its_share(collectors: int) -> None:
    fleet = Played(
        Plan(shares=collectors, frames_per_share=FRAMES, in_order=True, bound=0, total_frames=None),
        collectors=collectors,
        limits=Limits(MINUTE, MINUTE, MINUTE, min_available=1),
        has_weights=False,
    )
    fleet.turn()
    names = [f"c{index}" for index in range(collectors)]
    for name in names:
        fleet.world.build(fleet.remote(name))
        fleet.remote(name).acknowledged = 1  # the world expects this before a request
    fleet.turn()
    fleet.consumer.request_batch()
    fleet.turn()
    staged = fleet.consumer.stage("weights")
    fleet.world.die(fleet.remote("c0"))
    fleet.turn()
    fleet.turn(1)
    fleet.turn(1)
    fleet.world.build(fleet.remote("c0"))
    fleet.remote("c0").acknowledged = 1
    fleet.turn()
    fleet.turn()
    assert staged.version is None
    for name in names:
        while fleet.remote(name).requests:
            fleet.world.answer(fleet.remote(name))
            fleet.turn()
    fleet.turn()
    batch = fleet.take()
    assert batch is not None
    assert batch.frames == collectors * FRAMES
    fleet.turn()
    assert staged.version == 1
