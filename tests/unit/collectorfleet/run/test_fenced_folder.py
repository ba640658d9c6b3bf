"""Of the drivers of one folder the last one alone changes it, wherever the others were paused."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import Mock, patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.example_count import examples
from tests.unit.collectorfleet.run.interleaving import TURNS, Killed, Paused, content, no_chance_and_no_disk, order_of
from tests.unit.collectorfleet.run.taken_folder import taken

from collectorfleet.errors import FolderTakenOver
from collectorfleet.run import fenced_folder
from collectorfleet.run.checkpoint.folder import CheckpointFolder
from collectorfleet.run.fenced_folder import FencedFolder
from collectorfleet.run.folders import remove
from collectorfleet.run.position import Position

WRITES = 3


def test_a_staging_folder_that_a_library_made_anew_publishes_nothing(tmp_path: Path) -> None:
    first = taken(tmp_path)

    def write() -> None:
        with first.publishing("part") as place:
            taken(tmp_path)
            place.mkdir(parents=True)

    with pytest.raises(FolderTakenOver):
        write()
    assert content(tmp_path) == {}
    assert not (tmp_path / "part").exists()


def test_a_node_that_still_knows_the_staging_folder_by_its_old_name_can_use_it_no_more(tmp_path: Path) -> None:
    # As the attribute cache of a network file system does, an open descriptor leads to the folder whatever its name.
    first = taken(tmp_path)
    with first.publishing("manifest.json") as place:
        place.write_text("first")
        known = os.open(place.parent, os.O_RDONLY)
    try:
        taken(tmp_path)
        with pytest.raises(FileNotFoundError):
            os.mkdir("part", dir_fd=known)
        with pytest.raises(FileNotFoundError):
            os.rename(tmp_path / "manifest.json", "removed", dst_dir_fd=known)
    finally:
        os.close(known)
    assert content(tmp_path) == {"manifest.json": b"first"}


def test_drivers_are_counted_although_earlier_staging_folders_are_gone(tmp_path: Path) -> None:
    assert [taken(tmp_path).drivers_before for _ in range(3)] == [0, 1, 2]
    assert len(list(tmp_path.iterdir())) == 1


def test_what_fails_for_another_reason_keeps_its_own_error_and_leaves_nothing(tmp_path: Path) -> None:
    folder = taken(tmp_path)

    def write() -> None:
        with folder.publishing("part") as place:
            place.mkdir()
            (place / "half").write_text("half")
            raise ValueError("of the user's")

    with pytest.raises(ValueError, match="of the user's"):
        write()
    assert [one.name for one in tmp_path.glob(".driver-*/*")] == ["driver.json"]


def full_for(folder: FencedFolder, *, rename: bool) -> Any:
    """Within it, ``folder`` finds no room for a staging folder, and where ``rename`` none for another name either."""
    no_room = OSError(errno.ENOSPC, "no room")
    real = os.rename

    def refuse(source: Path, target: Path) -> None:
        if rename and Path(source).name.startswith(".driver-"):
            raise no_room
        real(source, target)

    refused = patch.multiple(folder, _create=Mock(side_effect=no_room), _sign=Mock(side_effect=no_room))
    with patch.object(fenced_folder.os, "rename", refuse), refused, pytest.raises(OSError, match="no room"):
        folder.take()


@pytest.mark.parametrize("rename", [False, True], ids=["a rename needs no room", "a rename needs room"])
@pytest.mark.parametrize("earlier", [0, 1])
def test_a_driver_that_found_the_volume_full_writes_once_there_is_room(
    tmp_path: Path, earlier: int, *, rename: bool
) -> None:
    for _ in range(earlier):
        taken(tmp_path).put("part", "earlier")
    folder = FencedFolder(tmp_path)
    full_for(folder, rename=rename)
    folder.put("part", "later")
    assert content(tmp_path) == {"part": b'"later"'}
    assert folder.drivers_before == earlier
    assert len(list(tmp_path.glob(".driver-*"))) == 1


@pytest.mark.parametrize("rename", [False, True], ids=["a rename needs no room", "a rename needs room"])
@pytest.mark.parametrize("earlier", [0, 1])
def test_a_driver_that_found_the_volume_full_does_not_outrank_one_that_came_later(
    tmp_path: Path, earlier: int, *, rename: bool
) -> None:
    for _ in range(earlier):
        taken(tmp_path)
    first = FencedFolder(tmp_path)
    full_for(first, rename=rename)
    second = taken(tmp_path)
    with pytest.raises(FolderTakenOver):
        first.put("part", "first")
    second.put("part", "second")
    assert content(tmp_path) == {"part": b'"second"'}


def test_a_driver_whose_folder_was_emptied_does_not_outrank_one_that_came_later(tmp_path: Path) -> None:
    for _ in range(3):
        first = taken(tmp_path)
    for left in list(tmp_path.iterdir()):
        remove(left)
    second = taken(tmp_path)  # counts from the beginning
    with pytest.raises(FolderTakenOver):
        first.put("part", "first")
    second.put("part", "second")


def test_what_somebody_removed_already_is_no_error(tmp_path: Path) -> None:
    taken(tmp_path).remove("part")


@pytest.mark.parametrize("number", [errno.EACCES, errno.EXDEV, errno.EBUSY])
def test_a_staging_folder_that_cannot_be_moved_is_removed_where_it_is(tmp_path: Path, number: int) -> None:
    first = taken(tmp_path)
    first.stage("part").write_text("half")
    with patch.object(fenced_folder.os, "rename", Mock(side_effect=OSError(number, "no"))):
        second = taken(tmp_path)
    with pytest.raises(FolderTakenOver):
        first.put("part", "first")
    second.put("part", "second")
    assert len(list(tmp_path.glob(".driver-*"))) == 1


def test_who_may_change_the_folder_may_take_it_over(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    taken(tmp_path)
    (staging,) = tmp_path.glob(".driver-*")
    assert stat.S_IMODE(staging.stat().st_mode) == 0o777


class Driver(Paused):
    """Takes the folder and writes checkpoints. Their frames continue from the checkpoint that it found."""

    def __init__(self, path: Path, published: list[int]) -> None:
        self.path = path
        self.checkpoints: CheckpointFolder | None = None
        self._published = published
        super().__init__(path, self._drive)

    @property
    def turn(self) -> tuple[int, str] | None:
        """None before it has taken the folder."""
        turn = self.checkpoints.files._turn if self.checkpoints else None
        return (turn.number, turn.token) if turn else None

    def _drive(self) -> None:
        found = CheckpointFolder(self.path, fleet="cheetah", run="run-1")
        frames = found.newest.position.frames if found.newest else 0
        # It may find more: an earlier driver can be paused after it has renamed a checkpoint.
        assert frames >= max(self._published, default=0)
        self.checkpoints = found
        with closing(found):
            for _ in range(WRITES):
                frames += 10
                found.write(Position(frames=frames), b"state")
                self._published.append(frames)


@settings(max_examples=examples(40))
@given(TURNS, st.integers(0, 9))
@example([(0, 1), (0, 7), (2, 39), (1, 7), (1, 40), (1, 40)], 0)
def test_whoever_lost_the_folder_changes_nothing_and_no_progress_is_lost(
    turns: list[tuple[int, int]], seed: int
) -> None:
    with tempfile.TemporaryDirectory() as name, no_chance_and_no_disk(seed):
        path, published = Path(name), list[int]()
        drivers = [Driver(path, published) for _ in range(3)]
        for chosen in order_of(turns):
            driver = drivers[chosen]
            if driver.has_ended:
                continue
            taken_by = [other.turn for other in drivers if other.turn is not None]
            displaced = driver.turn is not None and driver.turn < max(taken_by)
            before = content(path) if displaced else {}
            driver.step()
            assert not displaced or content(path) == before
        assert all(driver.has_ended for driver in drivers)
        errors = [driver.error for driver in drivers if driver.error]
        for error in errors:
            if not isinstance(error, FolderTakenOver):
                raise error
        assert len(errors) < len(drivers)
        with closing(CheckpointFolder(path, fleet="cheetah", run="run-1")) as last:
            assert last.newest is not None
            # A displaced driver may return last from a write that it had finished before.
            assert last.newest.position.frames == max(published)


@pytest.mark.parametrize("torn", [False, True], ids=["between calls", "in a write"])
def test_a_driver_that_is_killed_between_any_two_calls_leaves_a_whole_checkpoint(torn: bool) -> None:
    for steps in range(1000):
        with tempfile.TemporaryDirectory() as name, no_chance_and_no_disk(0):
            path, published = Path(name), list[int]()
            driver = Driver(path, published)
            for _ in range(steps):
                driver.step()
                if driver.has_ended:
                    break
            if driver.has_ended:
                assert driver.error is None
                break
            driver.kill(torn=torn)
            assert isinstance(driver.error, Killed)
            with closing(CheckpointFolder(path, fleet="cheetah", run="run-1")) as after:
                found = after.newest.position.frames if after.newest else 0
                # The one that was being written may have its name already.
                assert found - (published[-1] if published else 0) in (0, 10)
                after.write(Position(frames=found + 10), b"state")
                assert len(list(path.glob("checkpoint-*"))) == min(2, found // 10 + 1)
    assert published == [10, 20, 30]
    assert steps > 30
