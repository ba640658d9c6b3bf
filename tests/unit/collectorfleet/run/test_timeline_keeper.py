"""Where the timeline of a run is kept, and what becomes of it where there is no room."""

from __future__ import annotations

import errno
import logging
import os
import re
from pathlib import Path
from unittest.mock import Mock

import pytest
from tests.manifests import fleet
from tests.unit.collectorfleet.run.taken_folder import taken

from collectorfleet.display.report.files import write_page
from collectorfleet.run import fenced_folder
from collectorfleet.run.timeline_keeper import keeper_in
from collectorfleet.timeline import files
from collectorfleet.timeline.timeline import Timeline


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
