"""Which collectors leave a smaller fleet."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from collectorfleet.errors import UserCodeError
from collectorfleet.scaling import EmptyWholePods, HighestIndexes, Placed, chosen


def test_an_indexed_job_keeps_its_first_ranks_whoever_runs() -> None:
    collectors = [Placed("c2", 2, "b"), Placed("c0", 0, None), Placed("c10", 10, None), Placed("c1", 1, "a")]
    assert HighestIndexes().leaving(collectors, 2) == ["c10", "c2"]


# Pod a has three collectors, b has two, d has two. Two do not run.
FLEET = [
    Placed("c0", 0, "a"),
    Placed("c1", 1, "b"),
    Placed("c2", 2, "a"),
    Placed("c3", 3, "d"),
    Placed("c4", 4, None),
    Placed("c5", 5, "b"),
    Placed("c6", 6, "d"),
    Placed("c7", 7, "a"),
    Placed("c10", 10, None),
]
IN_ORDER = ["c10", "c4", "c6", "c3", "c5", "c1", "c7", "c2", "c0"]


@pytest.mark.parametrize("count", range(len(FLEET) + 1))
def test_whole_pods_become_empty_after_those_that_do_not_run(count: int) -> None:
    assert EmptyWholePods().leaving(FLEET, count) == IN_ORDER[:count]
    assert EmptyWholePods().leaving(FLEET[::-1], count) == IN_ORDER[:count]


def test_collectors_that_do_not_run_leave_first_although_they_are_more_than_any_pod_has() -> None:
    fleet = [Placed("c0", 0, None), Placed("c1", 1, None), Placed("c2", 2, "a")]
    assert EmptyWholePods().leaving(fleet, 2) == ["c1", "c0"]


def test_of_pods_with_equally_many_the_one_with_the_highest_index_becomes_empty() -> None:
    fleet = [Placed("c0", 0, "a"), Placed("c3", 3, "a"), Placed("c1", 1, "b"), Placed("c2", 2, "b")]
    assert EmptyWholePods().leaving(fleet, 2) == ["c3", "c0"]


class Leaves:
    """A user's policy."""

    def __init__(self, choose: Callable[[Sequence[Placed], int], Any]) -> None:
        self._choose = choose

    def leaving(self, collectors: Sequence[Placed], count: int) -> Any:
        return self._choose(collectors, count)


@pytest.mark.parametrize(
    ("choose", "said"),
    [
        pytest.param(lambda seen, count: seen[count], "IndexError: tuple index out of range", id="raises"),
        pytest.param(lambda *_: sys.exit("no idea"), "SystemExit: no idea", id="exits"),
        pytest.param(lambda *_: None, "TypeError: 'NoneType' object is not iterable", id="nothing"),
        pytest.param(lambda seen, count: seen[:count], "returned 2 values, which name 0", id="collectors"),
        pytest.param(lambda *_: ["c1"], "returned 1 values, which name 1", id="too few"),
        pytest.param(lambda *_: ["c0", "c1", "c0"], "returned 3 values, which name 2", id="too many"),
        pytest.param(lambda *_: ["c1", "c1"], "returned 2 values, which name 1", id="one of them twice"),
        pytest.param(lambda *_: ["c1", "c9"], "returned 2 values, which name 1", id="an unknown name"),
        pytest.param(lambda *_: [["c1"], "c0"], "returned 2 values, which name 1", id="a list"),
    ],
)
def test_a_policy_that_does_not_choose_as_many_names_is_the_users_code(
    choose: Callable[[Sequence[Placed], int], Any], said: str
) -> None:
    with pytest.raises(UserCodeError) as raised:
        chosen(Leaves(choose), tuple(Placed(f"c{index}", index, None) for index in range(2)), 2)
    assert str(raised.value).startswith("scaling_policy: ")
    assert said in str(raised.value)


def test_the_error_of_a_policy_says_how_many_names_to_return() -> None:
    with pytest.raises(UserCodeError) as raised:
        chosen(Leaves(lambda *_: ["c0"]), (Placed("c0", 0, None), Placed("c1", 1, None), Placed("c2", 2, None)), 2)
    assert raised.value.cause == (
        "ValueError: leaving() returned 1 values, which name 1 of 3 collectors; return 2 different names"
    )
