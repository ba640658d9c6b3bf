"""Where the timeline of a run is kept, and what becomes of it where there is no room."""

from __future__ import annotations

import errno
import logging
from pathlib import Path

import pytest
from tests.manifests import fleet
from tests.unit.collectorfleet.run.taken_folder import taken

from collectorfleet.run.fenced_folder import FencedFolder
from collectorfleet.run.timeline_keeper import keeper_in
from collectorfleet.timeline import files
from collectorfleet.timeline.timeline import Timeline


def test_it_is_kept_in_the_folder_and_elsewhere(tmp_path: Path) -> None:
    elsewhere: list[Timeline] = []
    keeper_in(taken(tmp_path), fleet(), every_seconds=60, also=elsewhere.append).end("completed: done")
    assert elsewhere == [files.read(tmp_path / files.NAME)]


def test_a_full_folder_costs_its_own_copy_alone_and_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(_folder: FencedFolder, _name: str, _content: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(FencedFolder, "put", full)
    elsewhere: list[Timeline] = []
    with caplog.at_level(logging.WARNING):
        keeper = keeper_in(taken(tmp_path), fleet(), every_seconds=60, also=elsewhere.append)
        keeper.end("completed: done")
        keeper.end("completed: done")
    assert len(elsewhere) == 2
    assert [record.message for record in caplog.records] == [
        "the timeline of the run is not kept: [Errno 28] No space left on device"
    ]


def test_the_next_driver_of_the_folder_costs_an_earlier_one_its_copy_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    elsewhere: list[Timeline] = []
    earlier = keeper_in(taken(tmp_path), fleet(), every_seconds=60, also=elsewhere.append)
    keeper_in(taken(tmp_path), fleet(), every_seconds=60).end("completed: by the next driver")
    with caplog.at_level(logging.WARNING):
        earlier.end("stopped")
    assert len(elsewhere) == 1
    assert "another driver has taken over the folder" in caplog.text
    kept = files.read(tmp_path / files.NAME)
    assert kept is not None
    assert kept.ended == "completed: by the next driver"
