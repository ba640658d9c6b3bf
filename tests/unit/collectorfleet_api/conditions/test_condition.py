"""A condition by itself: its time, its length."""

from __future__ import annotations

from tests.unit.collectorfleet_api.conditions.reports import LONG_AGO, NOON

from collectorfleet_api.conditions.condition import condition, stamped
from collectorfleet_api.v1alpha1 import ConditionType


def test_a_transition_is_dated_when_the_status_changes_and_not_when_the_words_do() -> None:
    before = stamped([condition(ConditionType.READY, False, "A", "a")], [], LONG_AGO, 1)
    same = stamped([condition(ConditionType.READY, False, "B", "b")], before, NOON, 2)
    changed = stamped([condition(ConditionType.READY, True, "C", "c")], same, NOON, 2)
    assert [found.last_transition_time for found in (*before, *same, *changed)] == [LONG_AGO, LONG_AGO, NOON]
    assert [found.observed_generation for found in (*before, *same)] == [1, 2]


def test_a_message_of_any_length_fits_into_a_condition() -> None:
    found = condition(ConditionType.READY, False, "A", "x" * 100_000)
    assert len(found.message) == 8000
    assert found.message.endswith(" ...")
