"""Progress under TorchRL's names."""

from __future__ import annotations

from datetime import timedelta

from tests.unit.collectorfleet.gather.world import FRAMES, Played

from collectorfleet.fleet.report import stats
from collectorfleet.gather.shared import Limits
from collectorfleet.gather.state.plan import Plan

HOUR = timedelta(hours=1)


def test_those_that_start_are_alive_and_those_that_were_lost_are_not() -> None:
    fleet = Played(
        Plan(shares=1, frames_per_share=FRAMES, in_order=False, bound=None, total_frames=None),
        collectors=3,
        limits=Limits(HOUR, HOUR, HOUR, min_available=1),
    )

    def alive() -> int:
        found = stats(fleet.shared, "aggregate", FRAMES)
        assert found["workers"] == 3
        return int(found["workers_alive"])

    fleet.consumer.stage("weights")
    fleet.turn()
    fleet.world.build(fleet.remote("c0"))
    fleet.turn()
    assert alive() == 3
    fleet.world.die(fleet.remote("c1"))
    fleet.turn()
    assert alive() == 2
    fleet.turn(seconds=60)  # it is started again
    assert alive() == 3
    fleet.consumer.close()
    assert alive() == 0
