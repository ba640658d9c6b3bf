"""Numbers over time in bounded space."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from collectorfleet.timeline.points import MOST_POINTS, MOST_SERIES, Points

STEPS = st.lists(st.floats(0.01, 1000, allow_nan=False), min_size=1, max_size=2000)


@given(STEPS)
def test_they_are_bounded_and_keep_both_ends_and_their_order(steps: list[float]) -> None:
    points, now = Points(), 0.0
    for step in steps:
        now += step
        points.add(now, {"at": now})
    assert len(points.times) <= MOST_POINTS
    assert (points.times[0], points.times[-1]) == (steps[0], now)
    assert all(before < after for before, after in pairwise(points.times))
    assert points.series["at"] == points.times


@given(st.integers(MOST_POINTS, 20 * MOST_POINTS))
def test_a_long_run_is_seen_all_over(count: int) -> None:
    points = Points()
    for now in range(count):
        points.add(float(now), {})
    gaps = [after - before for before, after in pairwise(points.times)]
    assert len(points.times) >= MOST_POINTS / 4
    assert max(gaps) <= 8 * count / MOST_POINTS


def test_a_name_that_comes_later_was_not_known_before() -> None:
    points = Points()
    points.add(1.0, {"a": 1.0})
    points.add(2.0, {"b": 5.0})
    points.add(3.0, {"a": 3.0, "b": 6.0})
    assert points.series == {"a": [1.0, None, 3.0], "b": [None, 5.0, 6.0]}


def test_a_clock_that_is_set_back_adds_nothing() -> None:
    points = Points()
    points.add(2.0, {"a": 1.0})
    points.add(1.0, {"a": 2.0})
    assert points.series == {"a": [1.0]}


def test_there_are_so_many_names_and_no_more() -> None:
    points = Points()
    points.add(1.0, {f"m{number}": 0.0 for number in range(MOST_SERIES + 5)})
    assert len(points.series) == MOST_SERIES
