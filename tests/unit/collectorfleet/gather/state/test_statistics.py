"""Counts and rates, on a played clock."""

from __future__ import annotations

from datetime import UTC, datetime

from collectorfleet.gather.state.statistics import Statistics

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)


def test_an_hour_without_a_look_is_not_remembered() -> None:
    statistics = Statistics()
    for batch in range(36_000):
        statistics.handed_out(10, 0, batch / 10, NOON)
    assert statistics.remembered <= 301
    assert statistics.frames_per_second(3599.9) == 100.0
    assert (statistics.batches, statistics.frames_handed_out) == (36_000, 360_000)
