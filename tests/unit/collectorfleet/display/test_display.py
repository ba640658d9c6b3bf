"""What a person sees of a run, from the driver's report alone."""

from __future__ import annotations

import io

from rich.console import Console

from collectorfleet.display.live import MOST_ROWS, table
from collectorfleet.display.text import progress_line
from collectorfleet_api.v1alpha1 import (
    CollectorCounts,
    CollectorState,
    CollectorStatus,
    DriverReport,
    Progress,
    Staleness,
    WeightsStatus,
)


def report(collectors: int = 2) -> DriverReport:
    return DriverReport(
        weights=WeightsStatus(published=10, acknowledged=9, staleness=Staleness(bound=1, min=0, mean=0.75, max=1)),
        progress=Progress(
            frames_delivered=20480,
            total_frames=1_000_000,
            batches=10,
            frames_per_second=1705.4,
            metrics={"reward": 87.123456, "loss": float("nan")},
            collectors=CollectorCounts(desired=2, available=1, summary="1/2"),
        ),
        collectors=[
            CollectorStatus(name=f"c{i}", state=CollectorState.READY, applied_version=9) for i in range(collectors)
        ],
    )


def drawn(shown: DriverReport) -> str:
    console = Console(file=io.StringIO(), width=120, record=True)
    console.print(table("cartpole", shown, elapsed_seconds=12.3))
    return console.export_text()


def test_a_line_has_every_number_that_a_person_watches() -> None:
    assert progress_line(report(), elapsed_seconds=12.3) == (
        "12 s  frames 20,480 of 1,000,000  1,705 frames/s  weights 10 (acknowledged 9)  "
        "staleness 0.8 (max 1) of 1  collectors 1/2  loss nan  reward 87.12"
    )


def test_what_is_unknown_is_a_dash() -> None:
    assert progress_line(DriverReport(), elapsed_seconds=0) == (
        "0 s  frames 0  - frames/s  weights - (acknowledged -)  staleness -  collectors -"
    )


def test_the_table_shows_totals_and_a_row_for_each_collector() -> None:
    text = drawn(report())
    for words in ("cartpole", "20,480 of 1,000,000", "version 10, acknowledged 9", "reward 87.12", "c0", "c1", "Ready"):
        assert words in text, text


def test_a_large_fleet_does_not_push_the_numbers_off_the_screen() -> None:
    text = drawn(report(collectors=60))
    assert f"and {60 - MOST_ROWS} more collectors" in text
    assert len(text.splitlines()) < 24
