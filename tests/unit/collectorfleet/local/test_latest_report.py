"""Metrics and the final status have something to say before and after a run's session."""

from __future__ import annotations

import pytest

from collectorfleet.local.latest_report import LatestReport
from collectorfleet_api.v1alpha1 import DriverReport, Progress


def test_it_is_empty_before_live_meanwhile_and_the_last_word_afterwards() -> None:
    batches = iter(range(1, 10))
    report = LatestReport()
    assert report() == DriverReport()
    with report.of(lambda: DriverReport(progress=Progress(batches=next(batches)))):
        assert report() == DriverReport(progress=Progress(batches=1))
        assert report() == DriverReport(progress=Progress(batches=2))
    assert report() == report() == DriverReport(progress=Progress(batches=3))


def test_a_run_that_fails_has_a_last_word_too() -> None:
    report = LatestReport()
    said = DriverReport(progress=Progress(batches=7))

    def fails() -> None:
        with report.of(lambda: said):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert report() == said
