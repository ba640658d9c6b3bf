"""A run that ended before its first checkpoint is replaced by the next run. Other folders stay as they are."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from collectorfleet.errors import FolderTakenOver
from collectorfleet.evaluation.result import EpisodeVideo
from collectorfleet.run.checkpoint.folder import CheckpointFolder
from collectorfleet.run.checkpoint.unsaved_run import has_only_an_unsaved_run, recorded_end, start_over
from collectorfleet.run.position import Position
from collectorfleet.run.video_folder import VideoFolder
from collectorfleet.timeline import files
from collectorfleet.timeline.timeline import Timeline

VIDEO = EpisodeVideo(3, 100, 0, 0, 1.5, 10, b"file")


def opened(path: Path, run: str = "run-1") -> CheckpointFolder:
    return CheckpointFolder(path, fleet="cheetah", run=run)


def put_timeline(folder: CheckpointFolder, ended: str | None) -> None:
    """Write a timeline that is newer than the signs of all drivers."""
    folder.files.put(files.NAME, Timeline(fleet="cheetah", began=1.0, ended=ended).to_wire())
    signed = max(one.stat().st_mtime_ns for one in folder.path.glob(".driver-*/driver.json"))
    os.utime(folder.path / files.NAME, ns=(signed + 1, signed + 1))


@pytest.fixture
def unsaved(tmp_path: Path) -> CheckpointFolder:
    """The folder of a run that failed after 300 frames, before its first checkpoint."""
    folder = opened(tmp_path)
    folder.journal.note(300, 4)
    put_timeline(folder, "failed: train t:t: ValueError: no")
    folder.close()
    return folder


def content(path: Path) -> dict[str, bytes]:
    return {str(one.relative_to(path)): one.read_bytes() for one in path.rglob("*") if one.is_file()}


def test_the_next_run_begins_at_frame_0_as_the_first_driver(unsaved: CheckpointFolder) -> None:
    path = unsaved.path
    assert has_only_an_unsaved_run(path, "cheetah")
    assert recorded_end(path) == "failed: train t:t: ValueError: no"
    assert start_over(path, "cheetah")
    assert list(path.iterdir()) == []
    history = opened(path, "run-2").history()
    assert (history.run_id, history.drivers, history.checkpoint) == ("run-2", 0, None)
    assert history.records == (Position(),)
    assert json.loads((path / "fleet.json").read_text()) == {"fleet": "cheetah", "run": "run-2", "starts": 1}


def test_a_folder_for_videos_without_a_video_is_also_replaced(unsaved: CheckpointFolder) -> None:
    VideoFolder(unsaved.path / "videos")  # a driver makes this folder at its start
    assert has_only_an_unsaved_run(unsaved.path, "cheetah")
    assert start_over(unsaved.path, "cheetah")
    assert list(unsaved.path.iterdir()) == []


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda path: opened(path).write(Position(100, 1, 2), b"state"), id="a checkpoint"),
        pytest.param(lambda path: (path / "thesis.tex").touch(), id="a file of another program"),
        pytest.param(lambda path: VideoFolder(path / "videos").log_video(VIDEO), id="videos"),
        pytest.param(lambda path: (path / "videos").touch(), id="a file of another program in place of videos"),
        pytest.param(lambda path: ((path / "journal").unlink(), (path / "journal").mkdir()), id="a folder of a diary"),
        pytest.param(lambda path: (path / "fleet.json").write_text("{}"), id="fleet.json of another program"),
        pytest.param(lambda path: (path / "fleet.json").unlink(), id="no fleet.json"),
    ],
)
def test_a_folder_with_more_or_less_stays_as_it_is(unsaved: CheckpointFolder, change: Callable[[Path], object]) -> None:
    change(unsaved.path)
    assert not has_only_an_unsaved_run(unsaved.path, "cheetah")
    there = {one.name for one in unsaved.path.iterdir() if not one.name.startswith(".")}
    assert not start_over(unsaved.path, "cheetah")
    assert {one.name for one in unsaved.path.iterdir() if not one.name.startswith(".")} == there


def test_the_folder_of_another_fleet_stays_as_it_is(unsaved: CheckpointFolder) -> None:
    assert not has_only_an_unsaved_run(unsaved.path, "ant")


def test_a_run_has_not_ended_until_its_last_driver_says_so(unsaved: CheckpointFolder) -> None:
    path = unsaved.path
    # A driver that has resumed the run, and has written no timeline yet.
    (before,) = path.glob(".driver-*/driver.json")
    resumed = opened(path)
    (after,) = path.glob(".driver-*/driver.json")
    assert after != before
    ended = (path / files.NAME).stat().st_mtime_ns
    for begun in (ended + 1, ended):  # a file system may count seconds
        os.utime(after, ns=(begun, begun))
        assert recorded_end(path) is None
    put_timeline(resumed, None)
    assert recorded_end(path) is None
    put_timeline(resumed, "stopped: Ctrl-C")
    assert recorded_end(path) == "stopped: Ctrl-C"


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(Path.unlink, id="no timeline"),
        pytest.param(lambda file: file.write_text("{"), id="half a timeline"),
        pytest.param(lambda file: (file.unlink(), file.mkdir()), id="a folder"),
    ],
)
def test_without_a_readable_timeline_the_run_may_not_have_ended(
    unsaved: CheckpointFolder, damage: Callable[[Path], object]
) -> None:
    damage(unsaved.path / files.NAME)
    assert recorded_end(unsaved.path) is None


def test_a_driver_that_still_runs_cannot_write_into_the_folder_of_the_next_run(unsaved: CheckpointFolder) -> None:
    path = unsaved.path
    assert start_over(path, "cheetah")
    opened(path, "run-2")
    before = content(path)
    with pytest.raises(FolderTakenOver):
        put_timeline(unsaved, None)
    with pytest.raises(FolderTakenOver):
        unsaved.write(Position(400, 4, 5), b"state")
    assert content(path) == before
