"""The window keeps by counts what the definition says of every admission in turn."""

from __future__ import annotations

from collections.abc import Sequence

import hypothesis.strategies as st
from hypothesis import given

from collectorfleet.gather.state.staleness import Window

VERSIONS = st.lists(st.integers(0, 12) | st.integers(0, 500), max_size=20)


def in_time(versions: Sequence[int], first: int, bound: int, together: int) -> bool:
    """By the definition: the oldest first, ``together`` at a time, a version later each time."""
    return all(first + place // together - version <= bound for place, version in enumerate(sorted(versions)))


@given(versions=VERSIONS, first=st.integers(0, 15), bound=st.integers(0, 40), together=st.integers(1, 4))
def test_counts_answer_as_looking_at_each_would(versions: list[int], first: int, bound: int, together: int) -> None:
    window = Window(together, bound)
    for version in versions:
        window.add(version)
    assert window.in_time(first) == in_time(versions, first, bound, together)
    newest = max(versions, default=0) + 1
    assert window.in_time(first, also=newest) == in_time([*versions, newest], first, bound, together)


@given(versions=VERSIONS, data=st.data(), first=st.integers(0, 15), bound=st.integers(0, 40))
def test_some_can_be_left_out(versions: list[int], data: st.DataObject, first: int, bound: int) -> None:
    window = Window(2, bound)
    for version in versions:
        window.add(version)
    without = sorted(data.draw(st.permutations(versions))[: data.draw(st.integers(0, len(versions)))])
    left = list(versions)
    for version in without:
        left.remove(version)
    assert window.in_time(first, without=without) == in_time(left, first, bound, 2)
    for version in without:
        window.remove(version)
    assert window.in_time(first) == in_time(left, first, bound, 2)


@given(steps=st.lists(st.integers(0, 40), max_size=60), bound=st.integers(0, 60), data=st.data())
def test_versions_that_only_grow_are_kept_by_few(steps: list[int], bound: int, data: st.DataObject) -> None:
    window, kept, version = Window(1, bound), [0], 0
    window.add(0)
    for step in steps:
        version += step
        window.add(version)
        kept.append(version)
        gone = data.draw(st.sampled_from(kept))
        window.remove(gone)
        kept.remove(gone)
        assert window.in_time(version) == in_time(kept, version, bound, 1)


def test_without_a_bound_everything_is_in_time() -> None:
    window = Window(1, None)
    window.add(0)
    assert window.in_time(10**6)
