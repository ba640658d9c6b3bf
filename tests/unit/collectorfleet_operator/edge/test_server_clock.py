"""The API server's time, by the dates of its answers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from collectorfleet_operator.edge.server_clock import ServerClock

HERE = datetime(2026, 7, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("ahead", [timedelta(minutes=5), timedelta(minutes=-5)], ids=["ahead", "behind"])
def test_times_are_those_of_the_api_server_wherever_this_clock_stands(ahead: timedelta) -> None:
    clock = ServerClock(lambda: HERE)
    clock.observe(format_datetime(HERE + ahead, usegmt=True))
    assert clock.now() == HERE + ahead


@pytest.mark.parametrize("date", [format_datetime(HERE - timedelta(seconds=2), usegmt=True), None, "soon"])
def test_clocks_that_are_in_step_and_answers_that_say_nothing_change_nothing(date: str | None) -> None:
    clock = ServerClock(lambda: HERE)
    clock.observe(date)
    assert clock.now() == HERE


@pytest.mark.parametrize("zone", ["-0000", "+0000", "GMT", ""])
def test_a_date_without_a_zone_is_in_utc(zone: str) -> None:
    clock = ServerClock(lambda: HERE)
    clock.observe(f"Wed, 01 Jul 2026 12:05:00 {zone}".strip())
    assert clock.now() == HERE + timedelta(minutes=5)


def test_a_clock_that_is_put_right_is_believed_again() -> None:
    here = HERE
    clock = ServerClock(lambda: here)
    clock.observe(format_datetime(HERE + timedelta(hours=1), usegmt=True))
    here = HERE + timedelta(hours=1)
    clock.observe(format_datetime(here, usegmt=True))
    assert clock.now() == here
