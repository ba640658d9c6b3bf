"""Which collectors leave a smaller fleet."""

from __future__ import annotations

import pytest

from collectorfleet.scaling import EmptyWholePods, HighestIndexes, Placed


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
