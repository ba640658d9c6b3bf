"""How far a killed driver was, to the batch."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from collectorfleet.errors import FolderTakenOver
from collectorfleet.run.checkpoint.journal import Journal
from collectorfleet.run.fenced_folder import FencedFolder
from collectorfleet.run.position import Position


class Drivers:
    """The drivers of one folder, one after the other."""

    def __init__(self, path: Path) -> None:
        self.file = path / "journal"

    def next_journal(self) -> Journal:
        folder = FencedFolder(self.file.parent)
        folder.take()
        return Journal(folder, "journal")


@pytest.fixture
def drivers(tmp_path: Path) -> Drivers:
    return Drivers(tmp_path)


def test_it_tells_how_far_a_killed_driver_was(drivers: Drivers) -> None:
    journal = drivers.next_journal()
    for batches in range(1, 6):
        journal.note(batches * 100, batches)
    # Not closed: a killed driver closes nothing.
    assert drivers.next_journal().last_noted == Position(version=5, frames_lost=500)


def test_it_survives_a_torn_write_of_the_newest_entry(drivers: Drivers) -> None:
    journal = drivers.next_journal()
    journal.note(100, 1)
    journal.note(200, 2)
    content = bytearray(drivers.file.read_bytes())
    newest = content.index((200).to_bytes(8, "little"))
    content[newest] = 0xFF
    drivers.file.write_bytes(content)
    again = drivers.next_journal()
    assert again.last_noted == Position(version=1, frames_lost=100)
    again.note(300, 3)
    assert drivers.next_journal().last_noted == Position(version=3, frames_lost=300)


def test_a_new_one_says_nothing(drivers: Drivers) -> None:
    assert drivers.next_journal().last_noted == Position()


def test_one_that_is_cut_off_or_longer_says_what_is_whole(drivers: Drivers) -> None:
    journal = drivers.next_journal()
    for batches in (1, 2):
        journal.note(100 * batches, batches)
    content = drivers.file.read_bytes()
    assert len(content) == 2 * 28
    for length in (*range(1, 57), 60):
        drivers.file.write_bytes(content[:length].ljust(length, b"x"))
        whole = {0: Position(), 1: Position(version=1, frames_lost=100), 2: Position(version=2, frames_lost=200)}
        newest_first = content[:28].find((200).to_bytes(8, "little")) >= 0
        expected = whole[0] if length < 28 else whole[2 if newest_first or length >= 56 else 1]
        assert drivers.next_journal().last_noted == expected


def test_an_entry_counts_only_if_each_of_its_bytes_is_whole(drivers: Drivers) -> None:
    journal = drivers.next_journal()
    for batches in (1, 2):
        journal.note(100 * batches, batches)
    content = drivers.file.read_bytes()
    begin = content.index((200).to_bytes(8, "little")) - 8
    for place in range(begin, begin + 28):
        torn = bytearray(content)
        torn[place] ^= 0xFF
        drivers.file.write_bytes(torn)
        assert drivers.next_journal().last_noted == Position(version=1, frames_lost=100)


def test_others_may_read_it_and_nobody_can_run_it(drivers: Drivers) -> None:
    drivers.next_journal()
    assert stat.S_IMODE(drivers.file.stat().st_mode) & 0o133 == 0


def journals_open_here() -> int:
    opened = (os.readlink(one) for one in Path("/proc/self/fd").iterdir() if one.is_symlink())
    return sum("journal" in name for name in opened)


def test_a_driver_that_lost_the_folder_gets_no_journal_and_closes_nobodys_files(
    tmp_path: Path, drivers: Drivers, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = FencedFolder(tmp_path)
    first.take()
    drivers.next_journal().note(100, 1)
    closed: list[int] = []
    monkeypatch.setattr(os, "close", closed.append)
    with pytest.raises(FolderTakenOver):
        Journal(first, "journal")
    monkeypatch.undo()
    assert not {0, 1, 2} & set(closed)
    assert drivers.next_journal().last_noted.frames_ever == 100


def test_a_journal_that_cannot_be_replaced_is_written_to_and_the_new_one_is_closed(
    drivers: Drivers, monkeypatch: pytest.MonkeyPatch
) -> None:
    drivers.next_journal().note(100, 1)
    before = journals_open_here()
    folder = FencedFolder(drivers.file.parent)
    folder.take()

    def busy(*_: object) -> None:
        raise OSError(errno.EBUSY, "busy")

    with monkeypatch.context() as held:
        held.setattr(os, "rename", busy)
        journal = Journal(folder, "journal")
    assert journals_open_here() == before + 1
    journal.note(200, 2)
    journal.close()
    assert journals_open_here() == before
    assert drivers.next_journal().last_noted == Position(version=2, frames_lost=200)
