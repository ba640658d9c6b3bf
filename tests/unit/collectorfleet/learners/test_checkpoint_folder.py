"""A program of a user writes the checkpoints of its learners into an empty folder."""

from __future__ import annotations

import errno
import logging
from pathlib import Path
from typing import Any

import pytest

from collectorfleet import InvalidOption
from collectorfleet.learners.checkpoint_folder import NewFolder


def made_on_a_full_volume(path: Path, number: int = errno.ENOSPC) -> NewFolder:
    def mkdir(path: Path, **_: Any) -> None:
        raise OSError(number, "no room", str(path))

    with pytest.MonkeyPatch.context() as volume:
        volume.setattr(Path, "mkdir", mkdir)
        return NewFolder(path)


def test_a_folder_with_files_belongs_to_another_run(tmp_path: Path) -> None:
    (tmp_path / "old.pt").touch()
    with pytest.raises(InvalidOption, match=r"^checkpoint_dir: .* is not empty and belongs to another run"):
        NewFolder(tmp_path)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_volume_has_room_for_the_folder_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, number: int
) -> None:
    path = tmp_path / "parent" / "new"
    with caplog.at_level(logging.WARNING):
        folder = made_on_a_full_volume(path, number)
    assert caplog.messages.pop().endswith(
        f"new cannot be created; the first checkpoint tries again: OSError: [Errno {number}] no room: '{path}'"
    )
    for _ in range(2):
        with folder.writing():
            (path / "state.pt").touch()


def test_a_volume_that_is_not_full_has_to_take_the_folder_at_once(tmp_path: Path) -> None:
    with pytest.raises(PermissionError):
        made_on_a_full_volume(tmp_path / "new", errno.EACCES)


def test_a_folder_that_another_program_made_on_a_full_volume_is_not_written_to(tmp_path: Path) -> None:
    first = made_on_a_full_volume(tmp_path / "new")
    second = NewFolder(tmp_path / "new")
    with second.writing():
        (tmp_path / "new" / "state.pt").touch()
    with pytest.raises(InvalidOption, match=rf"^checkpoint_dir: another program created {tmp_path}/new while"):
        first.writing().__enter__()


def test_a_folder_that_somebody_removed_is_made_again(tmp_path: Path) -> None:
    folder = NewFolder(tmp_path / "new")
    (tmp_path / "new").rmdir()
    with folder.writing():
        assert (tmp_path / "new").is_dir()
