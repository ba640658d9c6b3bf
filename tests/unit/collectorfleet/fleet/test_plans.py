"""The plan of a gather, from the arguments of FleetCollector."""

from __future__ import annotations

from collectorfleet.fleet.plans import replanning
from collectorfleet.gather.state.plan import Plan

PLAN = Plan(shares=10, frames_per_share=400, in_order=True, bound=1, total_frames=None, cut_short_after=8)


def test_a_resized_fleet_splits_its_batch_anew_and_waits_for_the_same_part_of_it() -> None:
    found = replanning(4000, 1, 0.8)(PLAN, 6)
    assert (found.shares, found.frames_per_share, found.cut_short_after) == (8, 500, 6)
    assert (found.bound, found.in_order) == (1, True)


def test_a_resized_fleet_without_a_threshold_still_waits_for_all() -> None:
    assert replanning(4000, 1, None)(PLAN, 5).cut_short_after is None
