"""Progress in a log: a line now and then, none without news, and one at the end."""

from __future__ import annotations

import re

from tests.unit.collectorfleet.display.reports import evaluation
from tests.wait import eventually

from collectorfleet.display.lines import ProgressLines
from collectorfleet_api.v1alpha1 import DriverReport, Progress


def test_a_run_that_is_shorter_than_the_interval_has_one_line() -> None:
    lines: list[str] = []
    with ProgressLines(lambda: DriverReport(progress=Progress(batches=1)), lines.append, every_seconds=60):
        assert lines == []
    (line,) = lines
    assert re.match(r"\d+ s  frames 0", line)


def test_there_is_a_line_for_news_and_none_for_silence() -> None:
    lines: list[str] = []
    batches = 1
    looks = 0

    def report() -> DriverReport:
        nonlocal looks
        looks += 1
        return DriverReport(progress=Progress(batches=batches, frames_delivered=100 * batches))

    def wait_for_looks(more: int) -> None:
        now = looks
        eventually(lambda: looks >= now + more, within=10, every=0.01, what="looks at the report")

    with ProgressLines(report, lines.append, every_seconds=0.01):
        wait_for_looks(3)
        batches = 2
        wait_for_looks(3)
    assert [line.split("  ")[1] for line in lines] == ["frames 100", "frames 200"]


def test_a_result_of_an_evaluation_is_news_while_no_batch_comes() -> None:
    lines: list[str] = []
    seen = DriverReport(progress=Progress(batches=1))
    with ProgressLines(lambda: seen, lines.append, every_seconds=0.01):
        eventually(lambda: lines, within=10, every=0.01, what="a line")
        seen = seen.model_copy(update={"evaluation": evaluation()})
        eventually(lambda: len(lines) == 2, within=10, every=0.01, what="a line with the evaluation")
    assert lines[1].endswith("evaluation 471.2 ±4.1 (version 120, best 480)")


def test_the_wait_for_the_last_evaluation_is_news_while_no_batch_comes() -> None:
    seen = DriverReport(progress=Progress(batches=1), evaluation=evaluation())
    lines: list[str] = []
    with ProgressLines(lambda: seen, lines.append, every_seconds=0.01):
        eventually(lambda: len(lines) == 1, within=10, every=0.01, what="the first line")
        seen = seen.model_copy(update={"evaluation": evaluation(awaited_version=124)})
        eventually(lambda: len(lines) == 2, within=10, every=0.01, what="a line that names the last version")
    assert lines[1].endswith("last version 124 not evaluated yet")
