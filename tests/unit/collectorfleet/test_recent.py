from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from collectorfleet.recent import LargestOfRecent


@given(numbers=st.lists(st.integers(0, 20), max_size=60), count=st.integers(1, 10))
def test_it_is_the_largest_of_the_last_ones(numbers: list[int], count: int) -> None:
    recent = LargestOfRecent(count)
    assert recent.value == 0
    for place, number in enumerate(numbers, start=1):
        recent.note(number)
        assert recent.value == max(numbers[max(0, place - count) : place])
