"""When too few collectors are left, and what is said then."""

from __future__ import annotations

from datetime import timedelta

from collectorfleet.gather.state.shortage import Shortage
from collectorfleet.gather.state.slots import Slots
from collectorfleet.messages import Fault
from collectorfleet.recovery.failure import GiveUp, Replace

PATIENCE = timedelta(seconds=60)


def filled(count: int) -> Slots:
    slots = Slots(count)
    assert len(list(slots.to_fill(0.0))) == count
    return slots


def give_up(slots: Slots, *names: str) -> None:
    for name in names:
        slots.lost(name, "it died", Fault.DIED, 0.0)
        slots.decided(name, GiveUp("it died"), 0.0)


def test_a_fleet_that_never_starts_has_its_patience_and_no_more() -> None:
    shortage, slots = Shortage(100.0, 3), filled(4)
    assert shortage.verdict(2, slots, 3, PATIENCE, 160.0) is None
    text = "only 2 of 4 collectors available for 61 s (minAvailable is 3)"
    assert shortage.verdict(2, slots, 3, PATIENCE, 161.0) == text


def test_the_clock_begins_anew_with_each_shortage() -> None:
    shortage, slots = Shortage(0.0, 3), filled(4)
    assert shortage.verdict(3, slots, 3, PATIENCE, 50.0) is None
    assert shortage.verdict(2, slots, 3, PATIENCE, 90.0) is None
    assert shortage.verdict(2, slots, 3, PATIENCE, 150.0) is None
    assert shortage.verdict(4, slots, 3, PATIENCE, 151.0) is None
    assert shortage.verdict(2, slots, 3, PATIENCE, 200.0) is None
    text = "only 2 of 4 collectors available for 61 s (minAvailable is 3)"
    assert shortage.verdict(2, slots, 3, PATIENCE, 261.0) == text


def test_a_fleet_that_can_have_no_more_ends_at_once() -> None:
    shortage, slots = Shortage(0.0, 3), filled(4)
    give_up(slots, "c0")
    assert shortage.verdict(2, slots, 3, PATIENCE, 1.0) is None
    give_up(slots, "c1")
    text = "only 2 of 4 collectors left (minAvailable is 3)"
    assert shortage.verdict(2, slots, 3, PATIENCE, 1.0) == text


def test_one_that_is_replaced_can_be_there_again() -> None:
    shortage, slots = Shortage(0.0, 4), filled(4)
    slots.lost("c0", "it died", Fault.DIED, 0.0)
    slots.decided("c0", Replace(timedelta(seconds=1), "it died"), 0.0)
    assert shortage.verdict(3, slots, 4, PATIENCE, 1.0) is None


def test_a_fleet_that_is_scaled_up_misses_only_what_it_had() -> None:
    shortage, slots = Shortage(0.0, 2), filled(6)
    assert shortage.verdict(2, slots, 2, PATIENCE, 0.0) is None
    assert shortage.verdict(3, slots, 5, PATIENCE, 10.0) is None
    # Three were there, so three are needed of the five.
    assert shortage.verdict(2, slots, 5, PATIENCE, 20.0) is None
    text = "only 2 of 6 collectors available for 61 s (minAvailable is 3)"
    assert shortage.verdict(2, slots, 5, PATIENCE, 81.0) == text


def test_a_drained_pod_is_not_missed() -> None:
    shortage, slots = Shortage(0.0, 3), filled(3)
    assert shortage.verdict(3, slots, 3, PATIENCE, 0.0) is None
    slots.drained("c2", "pod")
    assert shortage.verdict(2, slots, 3, PATIENCE, 1000.0) is None
    assert shortage.verdict(1, slots, 3, PATIENCE, 1000.0) is None
    text = "only 1 of 3 collectors available for 61 s (minAvailable is 2)"
    assert shortage.verdict(1, slots, 3, PATIENCE, 1061.0) == text


def test_a_fleet_needs_one_collector_at_least() -> None:
    shortage, slots = Shortage(0.0, 0), filled(2)
    text = "only 0 of 2 collectors available for 61 s (minAvailable is 1)"
    assert shortage.verdict(0, slots, 1, PATIENCE, 61.0) == text
