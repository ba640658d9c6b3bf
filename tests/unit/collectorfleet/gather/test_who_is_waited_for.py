"""Sync: which collectors a batch waits for that are not there yet."""

from __future__ import annotations

from datetime import timedelta

from tests.unit.collectorfleet.gather.world import FRAMES, Played

from collectorfleet.gather.shared import Limits
from collectorfleet.gather.state.plan import Plan

HOUR = timedelta(hours=1)


class Fleet(Played):
    """Two collectors and batches of two shares, one of which each collector gets first."""

    def __init__(self) -> None:
        plan = Plan(shares=2, frames_per_share=FRAMES, in_order=True, bound=0, total_frames=None)
        super().__init__(plan, collectors=2, limits=Limits(HOUR, HOUR, HOUR, min_available=1))
        self.consumer.stage("weights")
        self.consumer.request_batch()
        self.turn()

    def turn(self, seconds: float = 0.0) -> None:
        super().turn(seconds)
        super().turn()  # what the first has noted is acted upon

    def build(self, name: str) -> None:
        remote = self.remote(name)
        self.world.build(remote)
        self.turn()
        self.world.load(remote)
        self.turn()

    def asked(self) -> dict[str, int]:
        """Requests under way, by collector."""
        return {remote.id.name: len(remote.requests) for remote in self.world.alive.values()}


def test_a_collector_that_starts_with_the_fleet_is_waited_for_but_not_for_ever() -> None:
    fleet = Fleet()
    fleet.build("c0")
    assert fleet.asked() == {"c0": 1, "c1": 0}
    fleet.turn(seconds=11)
    assert fleet.asked() == {"c0": 2, "c1": 0}


def test_the_share_of_one_that_is_lost_goes_to_another_at_once_also_soon_after_the_start() -> None:
    fleet = Fleet()
    fleet.build("c0")
    fleet.build("c1")
    assert fleet.asked() == {"c0": 1, "c1": 1}
    fleet.turn(seconds=3)
    fleet.world.die(fleet.remote("c1"))
    fleet.turn()
    fleet.turn(seconds=2)  # the replacement has begun to start
    assert fleet.asked() == {"c0": 2, "c1": 0}
