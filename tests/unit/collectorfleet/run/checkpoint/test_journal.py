"""How far a killed driver was, to the batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectorfleet.run.checkpoint.journal import Journal
from collectorfleet.run.position import Position


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def test_it_tells_how_far_a_killed_driver_was(file: Path) -> None:
    journal = Journal(file)
    for batches in range(1, 6):
        journal.note(batches * 100, batches)
    # Not closed: a killed driver closes nothing.
    assert Journal(file).last_noted == Position(version=5, frames_lost=500)


def test_it_survives_a_torn_write_of_the_newest_entry(file: Path) -> None:
    journal = Journal(file)
    journal.note(100, 1)
    journal.note(200, 2)
    content = bytearray(file.read_bytes())
    newest = content.index((200).to_bytes(8, "little"))
    content[newest] = 0xFF
    file.write_bytes(content)
    again = Journal(file)
    assert again.last_noted == Position(version=1, frames_lost=100)
    again.note(300, 3)
    assert Journal(file).last_noted == Position(version=3, frames_lost=300)


def test_a_new_one_says_nothing(file: Path) -> None:
    assert Journal(file).last_noted == Position()
