"""A driver that lost its fleet without knowing it changes nothing of what the next driver wrote or reads."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from collectorfleet.errors import FolderTakenOver
from collectorfleet.run.checkpoint.folder import CheckpointFolder
from collectorfleet.run.folders import remove
from collectorfleet.run.position import Position


def opened(path: Path) -> CheckpointFolder:
    return CheckpointFolder(path, fleet="cheetah", run="run-1")


def at(frames: int) -> Position:
    return Position(frames=frames, batches=frames // 10, version=frames // 10)


def content(path: Path) -> dict[str, bytes]:
    return {str(one.relative_to(path)): one.read_bytes() for one in path.rglob("*") if one.is_file()}


def test_its_checkpoint_does_not_replace_that_of_the_next_driver(tmp_path: Path) -> None:
    first = opened(tmp_path)
    first.write(at(100), b"first, 100 frames")
    second = opened(tmp_path)
    second.write(at(500), b"second, 500 frames")
    before = content(tmp_path)
    with pytest.raises(FolderTakenOver):
        first.write(at(120), b"first, 120 frames")
    assert content(tmp_path) == before
    third = opened(tmp_path)
    assert third.newest is not None
    assert third.newest.position == at(500)


def test_the_sentence_names_the_folder_the_other_driver_and_since_when_it_has_the_folder(tmp_path: Path) -> None:
    first = opened(tmp_path)
    opened(tmp_path)
    (whose,) = tmp_path.glob(".driver-*/driver.json")
    other = json.loads(whose.read_text())
    said = f"{tmp_path}: another driver has taken over the folder ({other['driver']}, since {other['since']})"
    with pytest.raises(FolderTakenOver, match=re.escape(said)):
        first.write(at(100), b"")


def test_it_cannot_write_before_the_next_driver_has_written_anything_either(tmp_path: Path) -> None:
    first = opened(tmp_path)
    first.write(at(100), b"first, 100 frames")
    opened(tmp_path)
    with pytest.raises(FolderTakenOver):
        first.write(at(120), b"first, 120 frames")
    newest = opened(tmp_path).newest
    assert newest is not None
    assert newest.position == at(100)


def test_what_it_notes_is_not_taken_for_the_next_drivers(tmp_path: Path) -> None:
    first = opened(tmp_path)
    first.journal.note(100, 10)
    second = opened(tmp_path)
    assert second.journal.last_noted == Position(version=10, frames_lost=100)
    second.journal.note(300, 30)
    for frames in range(400, 1000, 100):
        first.journal.note(frames, frames)
    assert opened(tmp_path).journal.last_noted == Position(version=30, frames_lost=300)


def test_a_checkpoint_that_it_was_writing_when_the_next_driver_came_is_never_published(tmp_path: Path) -> None:
    first = opened(tmp_path)
    first.write(at(100), b"first, 100 frames")
    dump = first.place_for_replay_buffer()
    dump.mkdir()
    second = opened(tmp_path)
    # As a library does that makes all folders above the one it writes to.
    (dump / "storage").mkdir(parents=True)
    before = content(tmp_path)
    with pytest.raises(FolderTakenOver):
        first.write(at(120), b"first, 120 frames", replay_buffer=dump)
    assert content(tmp_path) == before
    assert second.newest == opened(tmp_path).newest


def test_it_removes_nothing_that_the_next_driver_reads(tmp_path: Path) -> None:
    first = opened(tmp_path)
    first.write(at(100), b"first, 100 frames")
    second = opened(tmp_path)
    assert second.newest is not None
    with pytest.raises(FolderTakenOver):
        first.files.remove(second.newest.state_file.parent.name)
    assert second.newest.state_file.read_bytes() == b"first, 100 frames"


def test_the_timeline_is_the_next_drivers(tmp_path: Path) -> None:
    first = opened(tmp_path)
    second = opened(tmp_path)
    second.files.put("timeline.json", "second")
    with pytest.raises(FolderTakenOver):
        first.files.put("timeline.json", "first")
    assert json.loads((tmp_path / "timeline.json").read_text()) == "second"


def test_a_folder_that_a_person_emptied_is_written_to_again(tmp_path: Path) -> None:
    only = opened(tmp_path)
    for left in list(tmp_path.iterdir()):
        remove(left)
    only.write(at(100), b"100 frames")
    newest = opened(tmp_path).newest
    assert newest is not None
    assert newest.position == at(100)
