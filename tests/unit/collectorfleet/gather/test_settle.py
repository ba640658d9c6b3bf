"""At the end of a run the last version that was published is acknowledged, if anybody can."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import NoReturn

import pytest
from tests.unit.collectorfleet.gather.world import FRAMES, Played, join_one

from collectorfleet.gather.shared import Limits
from collectorfleet.gather.state.plan import Plan

HOUR = timedelta(hours=1)


class Waits(Exception):
    """Somebody would wait."""


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch) -> Played:
    """One collector, on-policy, with the first version; whoever would wait raises."""
    made = Played(
        Plan(shares=1, frames_per_share=FRAMES, in_order=True, bound=0, total_frames=None),
        collectors=1,
        limits=Limits(HOUR, HOUR, HOUR, min_available=1),
    )
    made.consumer.stage("weights")
    made.turn()
    join_one(made, "c0")

    def wait(*_: object) -> NoReturn:
        raise Waits

    monkeypatch.setattr(threading.Condition, "wait", wait)
    return made


def test_nothing_is_waited_for_if_all_is_acknowledged(fleet: Played) -> None:
    fleet.consumer.settle(60)


@pytest.mark.parametrize("turns", [0, 1], ids=["staged", "published"])
def test_a_version_that_is_not_acknowledged_is_waited_for(fleet: Played, turns: int) -> None:
    fleet.consumer.stage("weights")
    for _ in range(turns):
        fleet.turn()
    with pytest.raises(Waits):
        fleet.consumer.settle(60)
    fleet.turn()
    fleet.world.load(fleet.remote("c0"))
    fleet.turn()
    fleet.consumer.settle(60)


def test_collectors_that_are_gone_are_not_waited_for(fleet: Played) -> None:
    fleet.consumer.stage("weights")
    fleet.turn()
    fleet.world.die(fleet.remote("c0"))
    fleet.turn()
    fleet.consumer.settle(60)


def test_weights_that_the_bound_holds_back_are_not_waited_for(fleet: Played) -> None:
    assert fleet.consumer.request_batch()
    fleet.turn()
    fleet.consumer.stage("weights")
    fleet.turn()
    assert fleet.gather.version == 1
    fleet.consumer.settle(60)


def test_the_end_is_not_waited_beyond(fleet: Played) -> None:
    fleet.consumer.stage("weights")
    fleet.turn()
    fleet.consumer.close()
    fleet.consumer.settle(60)
