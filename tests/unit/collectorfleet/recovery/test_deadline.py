"""How long a request may take, learned from what requests took so far."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from collectorfleet.recovery.deadline import LearnedDeadline


@given(st.lists(st.floats(0, 100), max_size=300))
def test_it_is_five_times_the_longest_of_the_last_hundred_but_no_less_than_the_floor(took: list[float]) -> None:
    deadline = LearnedDeadline(floor=10.0, first_floor=50.0)
    for seconds in took:
        deadline.note_duration(seconds)
    longest = 5 * max(took[-100:], default=0.0)
    assert deadline.allowed(first=False) == max(10.0, longest)
    assert deadline.allowed(first=True) == max(50.0, longest)


def test_the_longest_of_101_requests_ago_is_forgotten() -> None:
    deadline = LearnedDeadline(floor=10.0, first_floor=50.0)
    deadline.note_duration(30.0)
    for _ in range(99):
        deadline.note_duration(1.0)
    assert deadline.allowed(first=False) == 150.0
    deadline.note_duration(1.0)
    assert deadline.allowed(first=False) == 10.0
