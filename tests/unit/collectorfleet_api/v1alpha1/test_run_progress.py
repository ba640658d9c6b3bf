"""How far a run is, as the column says it."""

from __future__ import annotations

import pytest

from collectorfleet_api.v1alpha1.run_progress import duration, percent, seconds_left, summary


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0s"),
        (59.6, "1m"),
        (97, "1m37s"),
        (600, "10m"),
        (725, "12m"),
        (3600, "1h"),
        (12_000, "3h20m"),
        (90_000, "1d1h"),
    ],
)
def test_a_duration_has_at_most_two_units(seconds: float, said: str) -> None:
    assert duration(seconds) == said


@pytest.mark.parametrize(
    ("delivered", "total", "rate", "said"),
    [
        (0, None, 100.0, None),
        (0, 1000, None, "0%"),
        (200, 1000, 10.0, "20%, 1m20s left"),
        (999, 1000, 1.0, "99%, 1s left"),
        (1000, 1000, 1.0, "100%"),
        (1100, 1000, None, "100%"),
    ],
)
def test_the_column_has_percent_and_time_left_where_there_is_an_end(
    delivered: int, total: int | None, rate: float | None, said: str | None
) -> None:
    assert summary(delivered, total, rate) == said


@pytest.mark.parametrize("rate", [5e-324, 1e-300, 1e-9])
def test_a_rate_of_almost_nothing_has_no_end(rate: float) -> None:
    assert seconds_left(200, 1000, rate) is None
    assert summary(200, 1000, rate) == "20%"


def test_numbers_of_any_size_have_a_percentage() -> None:
    assert percent(10**400, 1000) == 100.0
    assert percent(1000, 10**400) == 0.0
    assert seconds_left(1000, 10**400, 8.0) is None
