from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectorfleet_api.packing.shares import divides, fewer, shares


def test_each_collector_has_a_share_where_the_frames_divide() -> None:
    assert shares(4000, 5) == 5


def test_after_scaling_to_a_number_that_does_not_divide_there_are_a_few_more_shares_than_collectors() -> None:
    assert shares(4000, 6) == 8


def test_a_share_is_whole_steps_of_the_environments_that_run_together() -> None:
    # 8 shares of 500 frames would not be: 500 is no multiple of 8.
    assert shares(4000, 6, per_collector=8) == 10


def test_more_collectors_than_frames_leave_some_idle() -> None:
    assert shares(7, 9) == 7


def test_frames_that_are_no_multiple_of_the_environments_are_refused() -> None:
    with pytest.raises(ValueError, match="100 frames are not a multiple of 8 environments"):
        shares(100, 4, per_collector=8)


@given(st.integers(1, 500), st.integers(1, 300), st.integers(1, 16))
def test_shares_are_equal_and_enough_for_all_collectors(steps: int, replicas: int, per_collector: int) -> None:
    frames = steps * per_collector
    found = shares(frames, replicas, per_collector)
    assert divides(frames, found, per_collector)
    assert found >= min(replicas, steps)
    assert found == replicas or not divides(frames, replicas, per_collector)


@given(st.integers(1, 500), st.integers(1, 300), st.integers(1, 16))
def test_fewer_shares_are_the_most_that_collectors_can_have_one_each_of(
    steps: int, most: int, per_collector: int
) -> None:
    frames = steps * per_collector
    found = fewer(frames, most, per_collector)
    assert found <= most
    assert [n for n in range(1, most + 1) if divides(frames, n, per_collector)][-1] == found
