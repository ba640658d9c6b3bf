"""A text that is no time, or no time in which this software can run, is None and no error."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectorfleet_api.times import duration, parse_time
from collectorfleet_api.v1alpha1 import CollectorFleetStatus
from collectorfleet_api.v1alpha1.parse_known import parse_known

# The API server stores each of them somewhere in a fleet or in its Lease.
ODD = [
    "0000-01-01T00:00:00.000000Z",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999Z",
    "2026-01-01T00:00:00+99:99",
    "2026-13-01T00:00:00Z",
]
LONG = duration(2**63 - 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-07-01T12:00:00Z", datetime(2026, 7, 1, 12, tzinfo=UTC)),
        ("2026-07-01T14:00:00.5+02:00", datetime(2026, 7, 1, 12, 0, 0, 500_000, tzinfo=UTC)),
    ],
)
def test_a_time_of_kubernetes_is_read_with_its_zone(text: str, expected: datetime) -> None:
    assert parse_time(text) == expected


@pytest.mark.parametrize("value", [*ODD, "", "soon", "2026-07-01T12:00:00", None, 7, 1.5, True, [], {}])
def test_what_is_no_time_is_none(value: Any) -> None:
    assert parse_time(value) is None


@given(st.text() | st.datetimes(timezones=st.timezones()).map(datetime.isoformat))
def test_durations_can_be_added_to_and_taken_from_any_time_that_was_read(text: str) -> None:
    found = parse_time(text)
    if found is not None:
        assert found - LONG < found < found + LONG
        assert found.astimezone(UTC) == found


@pytest.mark.parametrize("text", ODD)
def test_a_condition_with_an_odd_time_loses_the_time_alone(text: str) -> None:
    stored = {"type": "Ready", "status": "True", "reason": "Collecting", "message": "", "lastTransitionTime": text}
    status = parse_known(CollectorFleetStatus, {"phase": "Collecting", "conditions": [stored]})
    assert [one.last_transition_time for one in status.conditions] == [None]
    assert status.conditions[0].reason == "Collecting"
