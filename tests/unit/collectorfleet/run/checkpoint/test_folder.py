"""Checkpoints on disk, whenever their writer was killed."""

from __future__ import annotations

import errno
import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from collectorfleet.errors import FolderTakenOver, InfrastructureError, InvalidOption, UserCodeError
from collectorfleet.run import fenced_folder
from collectorfleet.run.checkpoint.folder import CheckpointFolder
from collectorfleet.run.position import Position


def opened(path: Path, run: str = "run-1") -> CheckpointFolder:
    return CheckpointFolder(path, fleet="cheetah", run=run)


def position(batches: int) -> Position:
    return Position(frames=100 * batches, batches=batches, version=batches + 1, frames_lost=7)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With checkpoints of batch 1, 2 and 3, of which two are kept."""
    path = tmp_path / "checkpoints"
    writer = opened(path)
    for batches in (1, 2, 3):
        writer.write(position(batches), f"state {batches}".encode())
    writer.close()
    return path


def checkpoints(path: Path) -> list[str]:
    return sorted(one.name for one in path.iterdir() if one.name.startswith("checkpoint-"))


def test_the_newest_is_read_back_and_the_one_before_it_kept(folder: Path) -> None:
    newest = opened(folder).newest
    assert newest is not None
    assert newest.position == position(3)
    assert newest.state_file.read_bytes() == b"state 3"
    assert not newest.completed
    assert checkpoints(folder) == ["checkpoint-000002", "checkpoint-000003"]


def test_a_new_folder_has_none(tmp_path: Path) -> None:
    assert opened(tmp_path / "a" / "b").newest is None


@pytest.mark.parametrize("part", ["state.pt", "checkpoint.json"])
@pytest.mark.parametrize("damage", ["torn", "empty", "gone", "list", "without counters", "deep", "infinite", "other"])
def test_one_that_is_damaged_is_passed_over_for_the_one_before(
    folder: Path, part: str, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    file = folder / "checkpoint-000003" / part
    content = file.read_bytes()
    match damage:
        case "torn":
            file.write_bytes(content[: len(content) // 2])
        case "empty":
            file.write_bytes(b"")
        case "gone":
            file.unlink()
        case "list":
            file.write_bytes(b"[]")
        case "without counters":
            file.write_bytes(b'{"position": [], "sha256": "", "time": ""}')
        case "deep":
            file.write_bytes(b"[" * 100_000)
        case "infinite":
            file.write_bytes(b'{"format": 1e999, "position": {}}')
        case _:
            file.write_bytes(b"[]" + content[2:])
    with caplog.at_level(logging.WARNING):
        again = opened(folder)
    assert again.newest is not None
    assert again.newest.position == position(2)
    assert "checkpoint-000003 in " in caplog.text
    assert "cannot be read and is skipped" in caplog.text
    # The next one takes its place, and the one that is whole is the one kept beside it.
    again.write(position(4), b"state 4")
    assert checkpoints(folder) == ["checkpoint-000002", "checkpoint-000004"]


def test_where_none_can_be_read_nobody_starts_over_by_accident(folder: Path) -> None:
    for name in checkpoints(folder):
        (folder / name / "state.pt").write_bytes(b"")
    with pytest.raises(UserCodeError, match=r"none of 2 can be read \(.*\); restore a checkpoint, or empty the folder"):
        opened(folder)


def test_what_a_killed_writer_left_is_removed(folder: Path) -> None:
    shutil.copytree(folder / "checkpoint-000003", folder / ".unfinished-checkpoint-000004")
    again = opened(folder)
    assert again.newest is not None
    assert again.newest.number == 3
    assert list(folder.glob(".unfinished*")) == []


def test_a_try_that_failed_does_not_stand_in_the_way_of_the_next(folder: Path) -> None:
    writer = opened(folder)
    (folder / ".unfinished-checkpoint-000004").mkdir()
    writer.write(position(4), b"state 4")
    assert opened(folder).newest == writer.newest


def test_a_fleet_that_is_made_again_under_its_name_goes_on_with_the_run(folder: Path) -> None:
    again = opened(folder, run="run-2")
    assert (again.run, again.starts) == ("run-1", 1)
    assert again.newest is not None
    assert opened(folder).starts == 2


class Volume:
    """Without room for another file or folder while it is full; ``room_without`` fills it as long as that is there."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, error: int = errno.ENOSPC, room_without: Path | None = None
    ) -> None:
        self.is_full = True
        self._error, self._room_without = error, room_without
        for name in ("mkdir", "write_text", "write_bytes"):
            monkeypatch.setattr(Path, name, self._guarded(getattr(Path, name)))
        opens = os.open

        def guarded_open(path: Path, flags: int, *arguments: Any, **options: Any) -> int:
            if flags & os.O_CREAT and not Path(path).exists():
                self._refuse()
            return opens(path, flags, *arguments, **options)

        monkeypatch.setattr(os, "open", guarded_open)

    def _guarded(self, works: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(path: Path, *arguments: Any, **options: Any) -> Any:
            if not path.is_dir():
                self._refuse()
            return works(path, *arguments, **options)

        return guarded

    def _refuse(self) -> None:
        if self.is_full and (self._room_without is None or self._room_without.exists()):
            raise OSError(self._error, "no room")


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT], ids=["volume", "quota"])
def test_a_driver_that_finds_the_volume_full_goes_on_from_the_newest(
    folder: Path, error: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    volume = Volume(monkeypatch, error)
    with caplog.at_level(logging.WARNING):
        again = opened(folder)
    assert again.newest is not None
    assert again.newest.position == position(3)
    assert (again.run, again.starts) == ("run-1", 1)
    assert f"{folder} is full; the run continues: OSError" in caplog.text
    again.journal.note(400, 4)
    with pytest.raises(OSError, match="no room"):
        again.write(position(4), b"state 4")
    volume.is_full = False
    again.write(position(4), b"state 4")
    assert checkpoints(folder) == ["checkpoint-000003", "checkpoint-000004"]
    assert opened(folder).journal.last_noted.frames_ever == 400
    assert opened(folder).starts == 3


def test_a_full_volume_keeps_nobody_who_lost_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = opened(folder)
    volume = Volume(monkeypatch)
    second = opened(folder)
    volume.is_full = False
    with pytest.raises(FolderTakenOver):
        first.write(position(4), b"state 4 of the first")
    second.write(position(5), b"state 5 of the second")
    assert opened(folder).newest == second.newest


def test_a_volume_that_fails_is_not_taken_for_a_full_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Volume(monkeypatch, errno.EIO)
    with pytest.raises(
        InfrastructureError, match=rf"^checkpoints in {folder}: OSError: .* no room.*; check the volume"
    ):
        opened(folder)


def test_the_history_has_the_drivers_of_the_folder_or_of_the_status_whichever_are_more(tmp_path: Path) -> None:
    assert opened(tmp_path).history().drivers == 0
    again = opened(tmp_path)
    assert (again.history().drivers, again.history(drivers=5).drivers) == (1, 5)


def test_the_first_driver_of_a_run_needs_room_for_what_says_whose_the_folder_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Volume(monkeypatch)
    with pytest.raises(InfrastructureError, match=r"checkpoints in .*: OSError: .* no room"):
        opened(tmp_path)


@pytest.mark.parametrize("left", [".unfinished-checkpoint-000004", ".driver-000001-0000000a"])
def test_what_a_killed_writer_left_makes_room_for_the_next_driver(
    folder: Path, left: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for staging in folder.glob(".driver-*"):
        staging.rename(folder / ".driver-000001-0000000a")
    state = folder / left / "state.pt"
    state.parent.mkdir(exist_ok=True)
    state.write_bytes(b"half")
    Volume(monkeypatch, room_without=state)
    again = opened(folder)
    again.write(position(4), b"state 4")
    assert opened(folder).starts == 2


def test_one_that_cannot_be_written_leaves_nothing_that_takes_room(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = opened(folder)
    dump = writer.place_for_replay_buffer()
    dump.mkdir()
    (dump / "frames").touch()
    monkeypatch.setattr(fenced_folder, "sync_tree", Mock(side_effect=OSError(errno.ENOSPC, "no room")))
    with pytest.raises(OSError, match="no room"):
        writer.write(position(4), b"state 4", replay_buffer=dump)
    assert [one.name for one in folder.glob(".driver-*/*")] == ["driver.json"]
    assert checkpoints(folder) == ["checkpoint-000002", "checkpoint-000003"]


def test_an_old_one_that_cannot_be_removed_makes_the_new_one_no_worse(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    writer = opened(folder)
    monkeypatch.setattr(writer.files, "remove", Mock(side_effect=OSError(errno.EBUSY, "busy")))
    writer.write(position(4), b"state 4")
    assert "checkpoint-000002 in " in caplog.text
    assert "is no longer needed, but cannot be removed: OSError: [Errno 16] busy" in caplog.text
    assert opened(folder).newest == writer.newest


def test_what_is_another_fleets_is_left_alone(folder: Path) -> None:
    left = folder / ".unfinished-checkpoint-000004"
    left.mkdir()
    with pytest.raises(InvalidOption, match="the checkpoints are of fleet cheetah"):
        CheckpointFolder(folder, fleet="ant", run="run-1")
    assert left.exists()


def test_a_folder_that_cannot_be_written_to_is_the_users_to_mend(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserCodeError, match=r"checkpoints in .*/file/x: NotADirectoryError"):
        opened(tmp_path / "file" / "x")


def test_a_volume_of_another_user_is_said_with_the_user_of_the_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    denied = PermissionError(errno.EACCES, "Permission denied", str(tmp_path / "cheetah"))
    monkeypatch.setattr(Path, "mkdir", Mock(side_effect=denied))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(
        UserCodeError, match=r"^checkpoints in .*Permission denied: .*; this process runs as user 1000 "
    ):
        opened(tmp_path / "cheetah")


def test_a_file_or_a_broken_link_is_no_folder_and_stays(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(UserCodeError, match=r"/file: NotADirectoryError: .*not a folder, but a file; name a folder"):
        opened(tmp_path / "file")
    said = r"/link: NotADirectoryError: .*not a folder, but a link whose target nowhere does not exist; name a folder"
    with pytest.raises(UserCodeError, match=said):
        opened(tmp_path / "link")
    assert (tmp_path / "file").read_text() == "mine"
    assert (tmp_path / "link").is_symlink()


def test_what_another_library_calls_a_checkpoint_is_neither_read_nor_removed(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("checkpoint-500", "checkpoint-100000"):
        (folder / name).mkdir()
        (folder / name / "model.safetensors").write_text(name)
    (folder / "checkpoint-200000").write_text("a file")
    (folder / "checkpoint-300000").symlink_to("checkpoint-100000")
    with caplog.at_level(logging.WARNING):
        again = opened(folder)
    assert again.newest is not None
    assert again.newest.position == position(3)
    assert caplog.text == ""
    again.write(position(4), b"state 4")
    again.write(position(5), b"state 5")
    newest = opened(folder).newest
    assert newest is not None
    assert newest.position == position(5)
    for name in ("checkpoint-500", "checkpoint-100000"):
        assert (folder / name / "model.safetensors").read_text() == name
    assert (folder / "checkpoint-200000").read_text() == "a file"
    assert (folder / "checkpoint-300000").is_symlink()
