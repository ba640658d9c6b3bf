"""Whatever a run cannot write, and why ever: one sentence names the file, the numbers and what to do."""

from __future__ import annotations

import errno
import logging
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import Mock, patch

import pytest
from tests.manifests import fleet
from tests.unit.collectorfleet.run.checkpoint.played_training import Training
from tests.unit.collectorfleet.run.taken_folder import taken

from collectorfleet.display.report.files import write_page
from collectorfleet.errors import CollectorFleetError
from collectorfleet.evaluation.result import EpisodeVideo
from collectorfleet.run import fenced_folder
from collectorfleet.run.log import loggers
from collectorfleet.run.log.run_log import RunLog
from collectorfleet.run.output.folder import OutputFolder
from collectorfleet.run.timeline_keeper import TimelineKeeper, keeper_in
from collectorfleet.run.video_folder import VideoFolder
from collectorfleet_api.v1alpha1 import DriverReport

ROOM = r" \([\d,]+ of [\d,]+ bytes left\)"
CAUSES = {
    errno.ENOSPC: (rf"\[Errno 28\] No space left on device{ROOM}", "make room on the volume"),
    errno.EDQUOT: (rf"\[Errno 122\] Disk quota exceeded{ROOM}", "make room on the volume"),
    errno.EIO: (r"\[Errno 5\] Input/output error", "check the volume"),
    errno.EROFS: (r"\[Errno 30\] Read-only file system", "mount the volume so that it can be written to"),
}


@contextmanager
def failing(number: int) -> Iterator[None]:
    """Within it, nothing reaches the disk. The error names no file, as that of a write to an open file."""
    fails = Mock(side_effect=lambda *_: (_ for _ in ()).throw(OSError(number, os.strerror(number))))
    with (
        patch.object(fenced_folder, "sync_tree", fails),
        patch.object(os, "fsync", fails),
        patch.object(loggers, "_check_writable", fails),
    ):
        yield


def checkpoint(folder: Path, number: int) -> tuple[Path, str]:
    training = Training(folder)
    training.batch(seconds=1)
    with failing(number):
        assert not training.write()
    status = training.checkpoints.status
    assert training.write()
    assert status is not None
    return folder / "checkpoint-000001", str(status.failure)


def output(folder: Path, number: int) -> tuple[Path, str]:
    empty = {"format": "Text", "fleet": "cheetah", "run": "run-1", "frames": 0, "parts": []}
    out = OutputFolder(str(folder), "part", empty)

    def write() -> None:
        with out.writing(), out.new_part("part-000000") as place:
            place.mkdir()

    with failing(number), pytest.raises(CollectorFleetError) as caught:
        write()
    write()
    return folder / "part-000000", str(caught.value)


def timeline(folder: Path, number: int) -> tuple[Path, str]:
    folder.mkdir()
    keeper = keeper_in(taken(folder), fleet(), every_seconds=60)
    with failing(number):
        keeper.end("completed")
    return folder / "timeline.json", ""


def report(folder: Path, number: int) -> tuple[Path, str]:
    folder.mkdir()
    file = folder / "report.html"
    keeper = TimelineKeeper(fleet(), {"the report": write_page(file)}, every_seconds=60)
    with failing(number):
        keeper.end("completed")
    return file, ""


def tensorboard(folder: Path, number: int) -> tuple[Path, str]:
    board = loggers.TensorBoard(folder)
    with failing(number), RunLog({"driver.log.tensorboard": board}, DriverReport, every_seconds=3600) as log:
        log.add({"reward": 1.0}, 1)
    return folder, ""


def video(folder: Path, number: int) -> tuple[Path, str]:
    folder.mkdir()
    videos = VideoFolder(folder)
    with (
        failing(number),
        RunLog({}, DriverReport, every_seconds=3600, video_sinks={"the folder of videos": videos.log_video}) as log,
    ):
        log.add_videos([EpisodeVideo(3, 100, 0, 0, 1.5, 10, b"file")])
        log.wait_for_videos()
    return folder / "version-000003-episode-0-return-1.5.webp", ""


@pytest.mark.parametrize(("number", "cause"), CAUSES.items(), ids=[errno.errorcode[one] for one in CAUSES])
@pytest.mark.parametrize("write", [checkpoint, output, timeline, report, tensorboard, video])
def test_what_cannot_be_written_is_one_sentence_with_its_path_its_numbers_and_what_to_do(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    write: Callable[[Path, int], tuple[Path, str]],
    number: int,
    cause: tuple[str, str],
) -> None:
    with caplog.at_level(logging.WARNING):
        path, said = write(tmp_path / "volume", number)
    # What ends no run is logged, once.
    warnings = [record.getMessage() for record in caplog.records]
    assert len(warnings) == (write is not output)
    why, remedy = cause
    for sentence in filter(None, [said, *warnings]):
        assert re.search(why, sentence)
        assert sentence.count(str(path)) == 1
        assert f"; {remedy}" in sentence
        assert "\n" not in sentence


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_driver_that_starts_while_the_volume_of_tensorboard_fails_trains_and_logs_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, number: int
) -> None:
    with failing(number):
        board = loggers.TensorBoard(tmp_path / "tensorboard" / "cheetah")
        with pytest.raises(OSError, match=os.strerror(number)):
            board.log_metrics({"reward": 1.0}, 1)
    with RunLog({"driver.log.tensorboard": board}, DriverReport, every_seconds=3600) as log:
        log.add({"reward": 1.0}, 1)
    assert caplog.messages == []
    assert list((tmp_path / "tensorboard" / "cheetah").glob("events*"))
