"""Which collectors are missing, in a sentence."""

from __future__ import annotations

from datetime import timedelta

import pytest

from collectorfleet.gather.state.collector import Collector
from collectorfleet.gather.state.collectors import Collectors
from collectorfleet.gather.state.missing import described, missing
from collectorfleet.gather.state.slots import Slots
from collectorfleet.messages import CollectorId, Fault
from collectorfleet.recovery.failure import GiveUp, Replace
from collectorfleet.scaling import HighestIndexes


def filled(count: int) -> Slots:
    slots = Slots(count)
    assert len(list(slots.to_fill(0.0))) == count
    return slots


def start(living: Collectors, name: str) -> Collector:
    living.starting(CollectorId(name, 1), int(name[1:]), 0.0)
    found = living.named(name)
    assert found is not None
    return found


def build(living: Collectors, name: str) -> Collector:
    one = start(living, name)
    living.built(one, "pod", 7, 0.0)
    return one


def test_a_fleet_whose_collectors_are_built_misses_nobody() -> None:
    living = Collectors()
    for name in ("c0", "c1"):
        build(living, name)
    assert described(filled(2), living) == ""


def test_each_missing_one_says_what_it_waits_for() -> None:
    slots, living = filled(4), Collectors()
    build(living, "c0")
    start(living, "c1")
    living.placed(start(living, "c2"), "pod-7", "node", 0.0)
    assert described(slots, living) == (
        "3 of 4 collectors are missing: c1 has not started, because it waits for CPU, GPU, memory or a pod; c2 builds "
        "its environment and policy on pod-7; c3 has not started"
    )


def test_three_are_named_and_the_others_counted() -> None:
    text = described(filled(3), Collectors())
    assert text == "3 of 3 collectors are missing: c0 has not started; c1 has not started; c2 has not started"
    assert described(filled(5), Collectors()).endswith("; c2 has not started; and 2 more")


def test_one_is_one_collector() -> None:
    assert described(filled(1), Collectors()) == "1 of 1 collectors is missing: c0 has not started"


@pytest.mark.parametrize("is_refilled", [False, True])
def test_a_replacement_says_what_it_replaces_until_it_is_built(is_refilled: bool) -> None:
    slots, living = filled(1), Collectors()
    slots.lost("c0", "out of memory", Fault.DIED, 0.0)
    slots.decided("c0", Replace(timedelta(0), "out of memory"), 0.0)
    if is_refilled:
        assert [slot.name for slot in slots.to_fill(1.0)] == ["c0"]
    text = "1 of 1 collectors is missing: c0 was lost (out of memory), and its replacement has not started"
    assert described(slots, living) == text
    build(living, "c0")
    assert described(slots, living) == ""


def test_slots_that_nothing_is_to_fill_now_are_not_missing() -> None:
    slots, living = filled(4), Collectors()
    for name in ("c0", "c1", "c2"):
        build(living, name)
    assert [slot.name for slot, _ in missing(slots, living)] == ["c3"]
    slots.lost("c3", "it died", Fault.DIED, 0.0)
    slots.decided("c3", GiveUp("it died"), 0.0)
    assert list(missing(slots, living)) == []
    for name in ("c1", "c2"):
        one = living.named(name)
        assert one is not None
        living.retired(one)
    slots.drained("c2", "pod")
    assert [slot.name for slot, _ in missing(slots, living)] == ["c1"]
    assert slots.resize(3, {"c0": "pod"}, HighestIndexes()) == ["c3"]
    assert slots.resize(1, {"c0": "pod"}, HighestIndexes()) == ["c2", "c1"]
    assert list(missing(slots, living)) == []
