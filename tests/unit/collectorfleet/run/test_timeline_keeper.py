"""Where the timeline of a run is kept, and what becomes of it where there is no room."""

from __future__ import annotations

import errno
import logging
import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import Mock

import pytest
from tests.manifests import fleet
from tests.unit.collectorfleet.run.taken_folder import taken

from collectorfleet.display.report.files import write_page
from collectorfleet.evaluation.result import EvaluationResult
from collectorfleet.fleet.evaluation_status import result_status
from collectorfleet.run import fenced_folder
from collectorfleet.run.timeline_keeper import keeper_in
from collectorfleet.timeline import files
from collectorfleet.timeline.timeline import Timeline
from collectorfleet_api.v1alpha1 import DriverReport

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_it_is_kept_in_the_folder_and_elsewhere(tmp_path: Path) -> None:
    elsewhere: list[Timeline] = []
    keeper_in(taken(tmp_path), fleet(), every_seconds=60, also={"elsewhere": elsewhere.append}).end("completed: done")
    assert elsewhere == [files.read(tmp_path / files.NAME)]


CAUSES = {
    errno.ENOSPC: (r"\[Errno 28\] No space left on device \([\d,]+ of [\d,]+ bytes left\)", "make room on the volume"),
    errno.EDQUOT: (r"\[Errno 122\] Disk quota exceeded \([\d,]+ of [\d,]+ bytes left\)", "make room on the volume"),
    errno.EIO: (r"\[Errno 5\] Input/output error", "check the volume"),
    errno.EROFS: (r"\[Errno 30\] Read-only file system", "mount the volume so that it can be written to"),
}


@pytest.mark.parametrize(("number", "cause"), CAUSES.items(), ids=[errno.errorcode[one] for one in CAUSES])
def test_a_folder_that_takes_nothing_costs_its_own_copy_alone_and_is_said_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    number: int,
    cause: tuple[str, str],
) -> None:
    elsewhere: list[Timeline] = []
    also = {"elsewhere": elsewhere.append}
    with caplog.at_level(logging.INFO):
        keeper = keeper_in(taken(tmp_path), fleet(), every_seconds=60, also=also)
        with monkeypatch.context() as failing:
            failing.setattr(fenced_folder, "sync_tree", Mock(side_effect=OSError(number, os.strerror(number))))
            keeper.end("completed: done")
            keeper.end("completed: done")
        keeper.end("completed: done")
    assert len(elsewhere) == 3
    said, again = (record.message for record in caplog.records)
    what = "the timeline of the run cannot be written, and the run continues without it"
    why, remedy = cause
    assert re.fullmatch(rf"{what}: OSError: {why}: '{tmp_path}/timeline\.json'; {remedy}", said)
    assert again == "the timeline of the run is written again"


def test_a_report_that_cannot_be_written_does_not_cost_the_copy_beside_the_checkpoints(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shown = write_page(tmp_path / "gone" / "report.html")
    keeper_in(taken(tmp_path), fleet(), every_seconds=60, also={"the report": shown}).end("completed: done")
    assert files.read(tmp_path / files.NAME) is not None
    (record,) = caplog.records
    assert record.message.startswith("the report cannot be written, and the run continues without it: ")
    assert "[Errno 2] No such file or directory" in record.message


def test_the_next_driver_of_the_folder_costs_an_earlier_one_its_copy_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    elsewhere: list[Timeline] = []
    earlier = keeper_in(taken(tmp_path), fleet(), every_seconds=60, also={"elsewhere": elsewhere.append})
    keeper_in(taken(tmp_path), fleet(), every_seconds=60).end("completed: by the next driver")
    with caplog.at_level(logging.WARNING):
        earlier.end("stopped")
    assert len(elsewhere) == 1
    assert "another driver has taken over the folder" in caplog.text
    kept = files.read(tmp_path / files.NAME)
    assert kept is not None
    assert kept.ended == "completed: by the next driver"


class Run:
    """A run whose evaluations end when a test says so."""

    def __init__(self, restored: EvaluationResult | None = None) -> None:
        self.results: list[EvaluationResult] = []
        self._restored = restored

    def evaluate(self, *versions: int) -> None:
        self.results += [result(version) for version in versions]

    def report(self) -> DriverReport:
        newest = self.results[-1] if self.results else self._restored
        return DriverReport(evaluation=None if newest is None else result_status(newest))


def result(version: int) -> EvaluationResult:
    time = NOON + timedelta(seconds=version / 9)
    return EvaluationResult(version, 100 * version, (0.1, 0.1, 0.2), (9,) * 3, 0.1, time)


def recorded(folder: Path) -> list[int]:
    found = files.read(folder / files.NAME)
    assert found is not None
    return [one.version for one in found.evaluations]


def test_evaluations_that_end_within_a_second_are_all_recorded_once(tmp_path: Path) -> None:
    run = Run()
    keeper = keeper_in(taken(tmp_path), fleet(), every_seconds=60)
    for versions in ((1, 2, 3), (), (4,), (5, 6)):
        with keeper.of(run.report, lambda: run.results):
            run.evaluate(*versions)
    assert recorded(tmp_path) == [1, 2, 3, 4, 5, 6]


def test_an_evaluation_that_ends_while_the_report_is_read_is_recorded(tmp_path: Path) -> None:
    run = Run()

    def report() -> DriverReport:
        seen = run.report()
        run.evaluate(len(run.results) + 1, len(run.results) + 2)
        return seen

    keeper = keeper_in(taken(tmp_path), fleet(), every_seconds=60)
    for _ in range(3):
        with keeper.of(report, lambda: run.results):
            pass
    assert recorded(tmp_path) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("restored", [3, 4], ids=["an older checkpoint", "a newer checkpoint"])
def test_a_resumed_run_adds_its_results_to_those_of_the_earlier_run(tmp_path: Path, restored: int) -> None:
    before = Run()
    with keeper_in(taken(tmp_path), fleet(), every_seconds=60).of(before.report, lambda: before.results):
        before.evaluate(1, 2, 3)
    resumed = Run(restored=result(restored))
    keeper = keeper_in(taken(tmp_path), fleet(), every_seconds=60)
    for versions in ((), (7, 8), (9,)):
        with keeper.of(resumed.report, lambda: resumed.results):
            resumed.evaluate(*versions)
    assert recorded(tmp_path) == [*range(1, restored + 1), 7, 8, 9]
