"""The table that a terminal shows while a fleet runs."""

from __future__ import annotations

import io

from rich.console import Console
from tests.unit.collectorfleet.display.reports import evaluation, report

from collectorfleet.display.live import MOST_ROWS, table
from collectorfleet_api.v1alpha1 import DriverReport


def drawn(shown: DriverReport) -> str:
    console = Console(file=io.StringIO(), width=120, record=True)
    console.print(table("cartpole", shown, elapsed_seconds=12.3))
    return console.export_text()


def test_the_table_shows_totals_and_a_row_for_each_collector() -> None:
    text = drawn(report())
    for words in ("cartpole", "20,480 of 1,000,000", "version 10, acknowledged 9", "reward 87.12", "c0", "c1", "Ready"):
        assert words in text, text


def test_evaluations_have_a_row_in_a_fleet_that_evaluates_and_none_elsewhere() -> None:
    text = drawn(report().model_copy(update={"evaluation": evaluation()}))
    assert "evaluation  471.2 ±4.1 (version 120, best 480)" in text
    assert "evaluation" not in drawn(report())


def test_the_table_names_the_last_version_until_it_is_evaluated() -> None:
    text = drawn(report().model_copy(update={"evaluation": evaluation(awaited_version=124)}))
    assert "(version 120, best 480)  2 finished, 1 failed  evaluators 2/2  last version 124 not evaluated yet" in text


def test_a_large_fleet_does_not_push_the_numbers_off_the_screen() -> None:
    text = drawn(report(collectors=60))
    assert f"and {60 - MOST_ROWS} more collectors" in text
    assert len(text.splitlines()) < 24
