"""How far a killed driver was, to the batch."""

from __future__ import annotations

from pathlib import Path

import pytest

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
