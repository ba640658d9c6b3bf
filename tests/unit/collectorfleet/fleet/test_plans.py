"""The plan of a gather, from the options of a fleet."""

from __future__ import annotations

from typing import Any

import pytest
from tests import envs

from collectorfleet.fleet.options import FleetOptions
from collectorfleet.fleet.plans import plan_of, replanning
from collectorfleet.gather.state.plan import Plan


def options(**given: Any) -> FleetOptions:
    return FleetOptions(envs.make_counting, **{"frames_per_batch": 4000, "num_collectors": 10, "sync": True} | given)


def test_a_batch_in_sync_is_split_into_a_share_for_each_collector() -> None:
    assert plan_of(options(max_staleness=1, preemptive_threshold=0.85, init_random_frames=None)) == Plan(
        shares=10, frames_per_share=400, in_order=True, bound=1, total_frames=None, cut_short_after=8
    )


def test_a_batch_in_async_is_one_collectors_and_its_staleness_may_be_unbounded() -> None:
    assert plan_of(options(sync=False, total_frames=9000, init_random_frames=500)) == Plan(
        shares=1, frames_per_share=4000, in_order=False, bound=None, total_frames=9000, random_frames=500
    )


def test_the_first_shares_make_a_batch_in_whatever_order_they_come() -> None:
    assert plan_of(options(first_shares=8, max_staleness=2)) == Plan(
        shares=8, frames_per_share=500, in_order=False, bound=2, total_frames=None
    )


def test_a_resized_fleet_splits_its_batch_anew_and_waits_for_the_same_part_of_it() -> None:
    given = options(max_staleness=1, preemptive_threshold=0.8)
    replanned = replanning(given)
    assert replanned is not None
    found = replanned(plan_of(given), 6)
    assert (found.shares, found.frames_per_share, found.cut_short_after) == (8, 500, 6)
    assert (found.bound, found.in_order) == (1, True)


def test_a_resized_fleet_without_a_threshold_still_waits_for_all() -> None:
    replanned = replanning(options())
    assert replanned is not None
    assert replanned(plan_of(options()), 5).cut_short_after is None


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"sync": False}, id="no shares"),
        pytest.param({"shares": 5}, id="a number of shares"),
        pytest.param({"first_shares": 5, "max_staleness": 1}, id="a number of first shares"),
        pytest.param({"collector_class": "sync"}, id="collectors that cannot be asked for less"),
    ],
)
def test_a_plan_that_says_its_shares_stays_when_the_fleet_is_resized(given: dict[str, Any]) -> None:
    assert replanning(options(**given)) is None
