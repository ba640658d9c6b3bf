"""Counts and rates, on a played clock."""

from __future__ import annotations

from datetime import UTC, datetime
from math import nan

from collectorfleet.gather.state.statistics import Statistics
from collectorfleet.messages import Episodes

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)


def test_the_newest_hundred_episodes_are_remembered_but_for_returns_that_are_no_numbers() -> None:
    statistics = Statistics()
    statistics.ended(Episodes(tuple(map(float, range(150))), tuple(range(1, 151))))
    statistics.ended(Episodes((nan, 7.0), (3, 4)))
    assert statistics.episodes == 152
    assert list(statistics.returns) == [*map(float, range(51, 150)), 7.0]
    assert list(statistics.lengths) == [*range(53, 151), 3, 4]


def test_an_hour_without_a_look_is_not_remembered() -> None:
    statistics = Statistics()
    for batch in range(36_000):
        statistics.handed_out(10, 0, batch / 10, NOON)
    assert statistics.remembered <= 301
    assert statistics.frames_per_second(3599.9) == 100.0
    assert (statistics.batches, statistics.frames_handed_out) == (36_000, 360_000)
