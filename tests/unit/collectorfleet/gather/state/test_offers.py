"""How many offers of weights go out in a second."""

from __future__ import annotations

from collectorfleet.gather.state.offers import AT_ONCE, PER_SECOND, Pace


def taken(pace: Pace, now: float) -> int:
    count = 0
    while pace.take(now):
        count += 1
    return count


def test_a_small_fleet_gets_all_of_its_offers_at_once_and_a_large_one_over_time() -> None:
    pace = Pace()
    assert taken(pace, 0.0) == AT_ONCE
    assert taken(pace, 0.01) == 0.01 * PER_SECOND
    assert taken(pace, 100.0) == AT_ONCE  # what was not used is not saved up
