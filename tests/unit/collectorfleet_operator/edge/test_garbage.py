"""What the garbage collector is kept from."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator, Mapping

import pytest

from collectorfleet_operator.edge import garbage
from collectorfleet_operator.edge.garbage import GarbageFreezer


class Circle:
    """Refers to itself, so that only the collector frees it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def much() -> list[Circle]:
    """What a process has before its collector is told to set aside."""
    return [Circle() for _ in range(1_000_000)]


@pytest.fixture
def aside() -> Iterator[GarbageFreezer]:
    found = GarbageFreezer()
    found.begin()
    try:
        yield found
    finally:
        found.end()
        gc.collect()


def gone_through() -> int:
    """How many objects a complete collection has before it."""
    return sum(len(gc.get_objects(generation)) for generation in range(3))


@pytest.mark.usefixtures("aside")
def test_what_a_complete_collection_leaves_is_not_gone_through_again() -> None:
    kept = [Circle() for _ in range(5000)]
    gc.collect()
    assert gone_through() < len(kept)


@pytest.mark.usefixtures("much", "aside")
def test_a_complete_collection_comes_before_there_is_much_to_go_through() -> None:
    before = []

    def note(phase: str, info: Mapping[str, int]) -> None:
        if phase == "start" and info["generation"] == 2:
            before.append(gone_through())

    gc.callbacks.append(note)
    try:
        new = [Circle() for _ in range(200_000)]
    finally:
        gc.callbacks.remove(note)
    # 93,000 with Python's own thresholds.
    assert 0 < max(before) < 40_000 < len(new)


@pytest.mark.usefixtures("aside")
def test_garbage_that_came_since_is_collected() -> None:
    garbage_of_now = weakref.ref(Circle())
    gc.collect()
    assert garbage_of_now() is None


@pytest.mark.usefixtures("aside")
def test_what_is_set_aside_is_freed_as_any_object() -> None:
    class Plain:
        pass

    one = Plain()
    there = weakref.ref(one)
    gc.collect()
    del one
    assert there() is None


def test_circles_among_what_is_set_aside_are_collected_once_there_are_twice_as_many_objects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(garbage, "_COLLECTIONS_PER_COUNT", 1)
    monkeypatch.setattr(garbage, "_GROWN_TOO_MUCH", 1)
    aside = GarbageFreezer()
    aside.begin()
    try:
        circles = [Circle() for _ in range(5000)]
        one = weakref.ref(circles[0])
        gc.collect()
        circles.clear()
        gc.collect()
        gc.collect()
        assert one() is None
    finally:
        aside.end()
