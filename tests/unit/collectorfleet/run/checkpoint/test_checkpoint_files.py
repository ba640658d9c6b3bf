"""Which folders are checkpoints, and which of them can be read."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from collectorfleet.run.checkpoint import checkpoint_files
from collectorfleet.run.checkpoint.checkpoint_files import newest_checkpoint, numbers_in
from collectorfleet.run.checkpoint.folder import CheckpointFolder
from collectorfleet.run.position import Position


def position(batches: int) -> Position:
    return Position(frames=100 * batches, batches=batches, version=batches)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With two checkpoints."""
    writer = CheckpointFolder(tmp_path, fleet="cheetah", run="run-1")
    for batches in (1, 2):
        writer.write(position(batches), b"state")
    writer.close()
    return tmp_path


def change(folder: Path, number: int, **counters: Any) -> None:
    file = folder / f"checkpoint-{number:06d}" / "checkpoint.json"
    found = json.loads(file.read_text()) | counters
    file.write_text(json.dumps({name: value for name, value in found.items() if value != "left out"}))


@pytest.mark.parametrize(
    "counters",
    [{"format": None}, {"format": "one"}, {"sha256": "left out"}, {"time": 5}, {"position": {"frames": 200}}],
    ids=["no format", "a word as format", "no digest", "a number as time", "a counter is missing"],
)
def test_counters_of_another_kind_make_a_checkpoint_damaged_and_stop_no_driver(
    folder: Path, counters: dict[str, Any]
) -> None:
    change(folder, 2, **counters)
    newest = CheckpointFolder(folder, fleet="cheetah", run="run-1").newest
    assert newest is not None
    assert newest.position == position(1)


def test_an_older_checkpoint_of_a_newer_release_is_in_nobodys_way(folder: Path) -> None:
    change(folder, 1, format=2)
    newest = CheckpointFolder(folder, fleet="cheetah", run="run-1").newest
    assert newest is not None
    assert newest.position == position(2)


def test_a_link_to_nothing_is_no_checkpoint(folder: Path) -> None:
    (folder / "checkpoint-000009").symlink_to("nowhere")
    assert numbers_in(folder) == [2, 1]


def test_a_damaged_checkpoint_with_a_dump_is_one(folder: Path) -> None:
    (folder / "checkpoint-000002" / "replay-buffer").mkdir()
    (folder / "checkpoint-000002" / "checkpoint.json").unlink()
    assert numbers_in(folder) == [2, 1]


def test_a_folder_that_cannot_be_listed_may_be_a_checkpoint_and_is_tried(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = os.listdir

    def fails(path: Path) -> list[str]:
        if path.name == "checkpoint-000002":
            raise OSError(errno.EIO, "the volume fails")
        return listed(path)

    monkeypatch.setattr(os, "listdir", fails)
    newest = newest_checkpoint(folder)
    assert newest is not None
    assert newest.position == position(2)


def test_checkpoints_that_a_run_removes_after_they_were_listed_are_followed_by_its_newer_ones(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def list_late(path: Path) -> list[int]:
        found = numbers_in(path)
        monkeypatch.undo()
        writer = CheckpointFolder(folder, fleet="cheetah", run="run-1")
        for batches in (3, 4):
            writer.write(position(batches), b"state")
        return found

    monkeypatch.setattr(checkpoint_files, "numbers_in", list_late)
    newest = newest_checkpoint(folder)
    assert newest is not None
    assert newest.position == position(4)
    # They were not damaged.
    assert caplog.messages == []
