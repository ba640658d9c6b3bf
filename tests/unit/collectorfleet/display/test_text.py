"""A report in one line."""

from __future__ import annotations

from tests.unit.collectorfleet.display.reports import report

from collectorfleet.display.text import progress_line
from collectorfleet_api.v1alpha1 import DriverReport


def test_a_line_has_every_number_that_a_person_watches() -> None:
    assert progress_line(report(), elapsed_seconds=12.3) == (
        "12 s  frames 20,480 of 1,000,000  1,705 frames/s  weights 10 (acknowledged 9)  "
        "staleness 0.8 (max 1) of 1  collectors 1/2  loss nan  reward 87.12"
    )


def test_what_is_unknown_is_a_dash() -> None:
    assert progress_line(DriverReport(), elapsed_seconds=0) == (
        "0 s  frames 0  - frames/s  weights - (acknowledged -)  staleness -  collectors -"
    )
