"""When too few collectors are left, and how few those are."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import pytest
from tests.unit.collectorfleet.gather.world import FRAMES, World

from collectorfleet.errors import TooFewCollectors
from collectorfleet.gather.consumer import Limits, Policies
from collectorfleet.gather.loop import GatherLoop
from collectorfleet.gather.state.gather import Gather
from collectorfleet.gather.state.plan import Plan
from collectorfleet.policies.failure import GiveUp, Loss
from collectorfleet.policies.scaling import EmptyWholePods

MINUTE = timedelta(minutes=1)


@dataclass
class Never:
    def decide(self, loss: Loss) -> GiveUp:
        return GiveUp(f"{loss.collector} had its chance")


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def loop(world: World) -> GatherLoop:
    """Two of three collectors, of which two are enough; the third is lost for good."""
    loop = GatherLoop(
        world,
        Gather(Plan(shares=1, frames_per_share=FRAMES, in_order=False, bound=None, total_frames=None)),
        collectors=3,
        limits=Limits(MINUTE, MINUTE, MINUTE, min_available=2),
        policies=Policies(Never(), EmptyWholePods()),
        has_weights=False,
        clock=lambda: 0.0,
    )
    loop.turn()
    for remote in world.alive.values():
        world.build(remote)
    loop.turn()
    world.die(next(iter(world.alive.values())))
    loop.turn()
    assert loop.gather.available == 2
    return loop


def test_enough_are_enough(loop: GatherLoop) -> None:
    loop.turn()
    assert loop.ask()


def test_one_more_that_is_lost_for_good_ends_the_run_with_the_first_cause(loop: GatherLoop, world: World) -> None:
    world.die(next(iter(world.alive.values())))
    loop.turn()
    with pytest.raises(TooFewCollectors, match=r"only 1 of 3 collectors left .*is 2.*first cause, c0: it died"):
        loop.ask()


def test_how_few_are_enough_can_change_while_it_runs(loop: GatherLoop) -> None:
    loop.resize(3, min_available=3)
    loop.turn()
    with pytest.raises(TooFewCollectors, match=r"only 2 of 3 collectors left .*minAvailable is 3"):
        loop.ask()


def test_more_than_there_are_to_be_counts_as_all_of_them(loop: GatherLoop) -> None:
    loop.resize(1, min_available=3)
    loop.turn()
    assert loop.ask()
