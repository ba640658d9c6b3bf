"""Which group each collector is of, for any number of them."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectorfleet_api.packing.groups import split, turns

PARTS = st.lists(st.integers(1, 60), min_size=1, max_size=17).map(
    lambda parts: {f"g{index}": part for index, part in enumerate(parts)}
)


@pytest.mark.parametrize(
    ("total", "sizes"),
    [
        pytest.param(6, (4, 2), id="as the manifest says"),
        pytest.param(12, (8, 4), id="twice as many"),
        pytest.param(7, (5, 2), id="one more is one more of one group"),
        pytest.param(2, (1, 1), id="one each"),
        pytest.param(1, (1, 0), id="fewer than groups: the largest"),
    ],
)
def test_collectors_are_in_the_proportion_of_their_groups(total: int, sizes: tuple[int, int]) -> None:
    assert split(total, {"fast": 4, "big": 2}) == dict(zip(("fast", "big"), sizes, strict=True))


def test_a_fleet_without_groups_has_no_turns() -> None:
    assert turns({}) == ()
    assert split(3, {}) == {}


def test_groups_take_turns_in_lowest_terms() -> None:
    assert turns({"fast": 4, "big": 2}) == ("fast", "big", "fast")
    assert turns({"small": 1, "large": 3}) == ("large", "small", "large", "large")
    assert "".join(turns({"a": 5, "b": 3, "c": 1})) == "abcaababa"
    assert "".join(turns({"a": 2, "b": 7})) == "babbbbabb"


@given(PARTS, st.integers(1, 500))
def test_every_collector_is_of_one_group(parts: dict[str, int], total: int) -> None:
    row, sizes = turns(parts), split(total, parts)
    assert sum(sizes.values()) == total
    counted = Counter(row[index % len(row)] for index in range(total))
    assert sizes == {name: counted[name] for name in parts}


@given(PARTS, st.integers(1, 5))
def test_at_the_sum_of_the_groups_each_has_its_own(parts: dict[str, int], times: int) -> None:
    assert split(times * sum(parts.values()), parts) == {name: times * part for name, part in parts.items()}


@given(PARTS, st.integers(1, 500))
def test_one_more_collector_takes_none_from_another_group(parts: dict[str, int], total: int) -> None:
    before, after = split(total, parts), split(total + 1, parts)
    assert sorted(after[name] - before[name] for name in parts) == [0] * (len(parts) - 1) + [1]


@given(PARTS, st.integers(1, 500))
def test_no_group_is_without_a_collector_as_long_as_there_are_enough(parts: dict[str, int], total: int) -> None:
    sizes = split(total, parts)
    if total >= len(parts):
        assert min(sizes.values()) >= 1
    else:
        taken = [parts[name] for name in parts if sizes[name]]
        assert sorted(taken) == sorted(parts.values())[-total:]


@given(PARTS, st.integers(1, 500))
def test_no_group_is_far_from_its_proportion(parts: dict[str, int], total: int) -> None:
    whole = sum(parts.values())
    for name, size in split(total, parts).items():
        # One for each group that has its first one early, and one that is rounded.
        assert abs(size - total * parts[name] / whole) < len(parts) + 1
