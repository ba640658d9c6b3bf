"""Only the last driver of a run decides which learners the next driver resumes."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from unittest.mock import Mock, patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.example_count import examples
from tests.unit.collectorfleet.run.interleaving import TURNS, Killed, Paused, content, no_chance_and_no_disk, order_of
from tests.unit.collectorfleet.run.taken_folder import taken

from collectorfleet.durable_files import write
from collectorfleet.errors import FolderTakenOver
from collectorfleet.learners.record import (
    Kept,
    Record,
    policy_file,
    read_record,
    remove_unnamed,
    replay_file,
    write_record,
)
from collectorfleet.learners.roster import Place
from collectorfleet.run.spec_learners.folders import LearnerFolders

WRITES = 2


def save(folder: Path, steps: int) -> None:
    """Write the checkpoint of one learner and its replay actor, even if its driver has lost the fleet."""
    record = Record(steps, (1,), {"a": Kept(Place(0, 0), policy_file("a", steps))}, (replay_file(0, steps),))
    for name in sorted(record.files):
        write(folder / name, lambda out: out.write(str(steps).encode()))
    write_record(folder, record)
    remove_unnamed(folder)


def steps_in(folder: Path) -> int:
    """Return how often the learner of this checkpoint had learned. All files are of the same checkpoint."""
    record = read_record(folder)
    [steps] = {int((folder / name).read_text()) for name in record.files}
    assert steps == record.number
    return steps


def test_what_a_displaced_drivers_learners_still_write_is_not_what_the_next_one_resumes(tmp_path: Path) -> None:
    own = LearnerFolders(taken(tmp_path)).make_own()
    save(own, 10)
    resumed = LearnerFolders(taken(tmp_path)).take_newest()
    save(own, 20)
    assert resumed is not None
    assert steps_in(resumed) == 10


def test_a_displaced_driver_makes_no_folder_after_that_of_its_successor(tmp_path: Path) -> None:
    first = LearnerFolders(taken(tmp_path))
    LearnerFolders(taken(tmp_path)).make_own()
    for act in (first.make_own, first.check):
        with pytest.raises(FolderTakenOver, match=f"^{tmp_path}: another driver has taken over the folder"):
            act()
    assert [one.name for one in tmp_path.glob("learners-*")] == ["learners-000000"]


def test_a_displaced_driver_copies_and_removes_nothing(tmp_path: Path) -> None:
    save(LearnerFolders(taken(tmp_path)).make_own(), 10)
    first = LearnerFolders(taken(tmp_path))
    taken(tmp_path)
    before = content(tmp_path)
    for act in (first.take_newest, first.tidy):
        with pytest.raises(FolderTakenOver):
            act()
    assert content(tmp_path) == before


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK])
def test_a_file_system_without_hard_links_has_a_copy(tmp_path: Path, number: int) -> None:
    own = LearnerFolders(taken(tmp_path)).make_own()
    save(own, 10)
    with patch.object(os, "link", Mock(side_effect=OSError(number, "no links"))):
        resumed = LearnerFolders(taken(tmp_path)).take_newest()
    save(own, 20)
    assert resumed is not None
    assert steps_in(resumed) == 10


def test_a_full_volume_has_the_learners_read_where_they_are_in_a_sentence(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own = LearnerFolders(taken(tmp_path)).make_own()
    save(own, 10)
    folders = LearnerFolders(taken(tmp_path))
    with patch.object(os, "link", Mock(side_effect=OSError(errno.ENOSPC, "No space left on device"))):
        assert folders.take_newest() == own
    (said,) = caplog.messages
    assert said.startswith(f"learners resume from {own} itself, not from a copy: OSError: ")
    assert said.endswith(f" bytes left): '{tmp_path}/learners-000001'; make room on the volume")


def made_on_a_full_volume(folders: LearnerFolders) -> Path:
    with patch.object(Path, "mkdir", Mock(side_effect=OSError(errno.ENOSPC, "No space left on device"))):
        own = folders.make_own()
        with pytest.raises(OSError, match="No space left on device"):
            folders.check()
    assert not own.exists()
    return own


def test_the_folder_of_a_driver_that_found_the_volume_full_is_made_once_there_is_room(tmp_path: Path) -> None:
    folders = LearnerFolders(taken(tmp_path))
    own = made_on_a_full_volume(folders)
    folders.check()
    assert own.is_dir()
    save(own, 10)
    folders.check()
    assert steps_in(own) == 10


def test_a_folder_that_somebody_removed_is_made_again(tmp_path: Path) -> None:
    folders = LearnerFolders(taken(tmp_path))
    own = folders.make_own()
    own.rmdir()
    with folders.writing():
        save(own, 10)
    assert steps_in(own) == 10


def test_two_drivers_that_found_the_volume_full_have_no_folder_in_common(tmp_path: Path) -> None:
    first = LearnerFolders(taken(tmp_path))
    chosen = made_on_a_full_volume(first)
    second = LearnerFolders(taken(tmp_path))
    assert made_on_a_full_volume(second) == chosen
    with pytest.raises(FolderTakenOver):
        first.check()
    assert not chosen.exists()
    second.check()
    assert chosen.is_dir()


class Driver(Paused):
    """Resumes the newest learners and writes its own checkpoints, as a driver of a fleet with learners."""

    def __init__(self, path: Path, written: list[int]) -> None:
        self.path = path
        self.turn: tuple[int, str] | None = None
        self.resumed: tuple[Path, int] | None = None
        self.written = written
        super().__init__(path, self._drive)

    def _drive(self) -> None:
        folder = taken(self.path)
        turn = folder._turn
        assert turn is not None
        self.turn = turn.number, turn.token
        folders = LearnerFolders(folder)
        before = folders.take_newest()
        with folders.reporting_takeover():  # as open_learners does
            steps = steps_in(before) if before else 0
        self.resumed = (before, steps) if before else None
        own = folders.make_own()
        for _ in range(WRITES):
            with folders.writing():
                save(own, steps := steps + 1)
            self.resumed = None  # its actors have files of their own now
            folders.tidy()
            self.written.append(steps)


@settings(max_examples=examples(25))
@given(TURNS, st.integers(0, 9))
# The first driver pauses between its last check and its second checkpoint, and the next driver resumes the first one.
@example([(0, 27), (1, 20), (0, 20)], 0)
# The second driver pauses while it reads its copy, and the third driver removes the copy.
@example([(0, 26), (1, 28), (2, 60)], 0)
# The third driver pauses while it looks for folders, and the second driver removes one of these folders.
@example([(0, 26), (2, 15), (1, 60)], 0)
# The second driver links the files of a checkpoint, and the first driver writes another checkpoint meanwhile.
@example([(1, 1), (1, 26), (0, 19), (1, 7)], 0)
def test_wherever_drivers_are_paused_what_the_last_one_resumed_stays_and_the_next_one_resumes_its_learners(
    turns: list[tuple[int, int]], seed: int
) -> None:
    with tempfile.TemporaryDirectory() as name, no_chance_and_no_disk(seed):
        path, written = Path(name), [list[int]() for _ in range(3)]
        drivers = [Driver(path, written[number]) for number in range(3)]
        for chosen in order_of(turns):
            if drivers[chosen].has_ended:
                continue
            drivers[chosen].step()
            last = max(drivers, key=lambda one: one.turn or (0, ""))
            if last.resumed is not None:
                assert steps_in(last.resumed[0]) == last.resumed[1]
        for driver in drivers:
            if driver.error and not isinstance(driver.error, FolderTakenOver):
                raise driver.error
        last = max(drivers, key=lambda one: one.turn or (0, ""))
        assert last.error is None
        newest = LearnerFolders(taken(path)).newest()
        assert newest is not None
        assert steps_in(newest) == last.written[-1]


@pytest.mark.parametrize("torn", [False, True], ids=["between calls", "in a write"])
def test_a_driver_that_is_killed_between_any_two_calls_leaves_learners_to_resume(torn: bool) -> None:
    for steps in range(1000):
        with tempfile.TemporaryDirectory() as name, no_chance_and_no_disk(0):
            path, written = Path(name), list[int]()
            save(LearnerFolders(taken(path)).make_own(), 5)
            driver = Driver(path, written)
            for _ in range(steps):
                driver.step()
                if driver.has_ended:
                    break
            if driver.has_ended:
                assert driver.error is None
                break
            driver.kill(torn=torn)
            assert isinstance(driver.error, Killed)
            resumed = LearnerFolders(taken(path)).take_newest()
            assert resumed is not None
            # The one that was being written may have its name already.
            assert steps_in(resumed) - (written[-1] if written else 5) in (0, 1)
    assert written == [6, 7]
    assert steps > 30
