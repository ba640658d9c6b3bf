"""Checkpoints of the release before (0.1.0), whose drivers wrote into the folder itself, and a rollback to it."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.binaries import ROOT

from collectorfleet.errors import InvalidOption
from collectorfleet.run.checkpoint.checkpoint_files import FORMAT
from collectorfleet.run.checkpoint.folder import CheckpointFolder
from collectorfleet.run.position import Position

STATE = b"state of the previous release"


def entry(number: int, frames: int, version: int) -> bytes:
    body = struct.pack("<QQQ", number, frames, version)
    return body + struct.pack("<I", zlib.crc32(body))


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """What a killed driver of the previous release left: two checkpoints, a half one, and 500 frames noted."""
    for number, frames in ((11, 300), (12, 400)):
        checkpoint = tmp_path / f"checkpoint-{number:06d}"
        checkpoint.mkdir()
        (checkpoint / "state.pt").write_bytes(STATE)
        counters = {
            "position": {"frames": frames, "batches": frames // 100, "version": frames // 100, "frames_lost": 0},
            "time": "2026-11-27T09:00:00+00:00",
            "completed": False,
            "sha256": hashlib.sha256(STATE).hexdigest(),
        }
        (checkpoint / "checkpoint.json").write_text(json.dumps(counters, indent=1))
    (tmp_path / ".unfinished-checkpoint-000013").mkdir()
    (tmp_path / "fleet.json").write_text(json.dumps({"fleet": "cheetah", "run": "run-1", "starts": 3}, indent=1))
    (tmp_path / "journal").write_bytes(entry(6, 400, 6) + entry(7, 500, 7))
    return tmp_path


def read_as_the_previous_release(path: Path) -> dict[str, Any]:
    """The names and fields that it read, and nothing else."""
    whose = json.loads((path / "fleet.json").read_text())
    numbers = sorted(int(one.name.removeprefix("checkpoint-")) for one in path.glob("checkpoint-*"))
    newest = path / f"checkpoint-{numbers[-1]:06d}"
    counters = json.loads((newest / "checkpoint.json").read_text())
    assert hashlib.sha256((newest / "state.pt").read_bytes()).hexdigest() == counters["sha256"]
    entries = (path / "journal").read_bytes()
    noted = max(struct.unpack("<QQQI", entries[place : place + 28])[:3] for place in range(0, len(entries), 28))
    return {
        "run": whose["run"],
        "starts": whose["starts"],
        "frames": counters["position"]["frames"],
        "noted": noted[1:],
    }


def opened(path: Path) -> CheckpointFolder:
    return CheckpointFolder(path, fleet="cheetah", run="run-2")


def test_a_driver_goes_on_from_checkpoints_of_the_previous_release(written: Path) -> None:
    folder = opened(written)
    assert (folder.run, folder.starts) == ("run-1", 3)
    assert folder.newest is not None
    assert folder.newest.position == Position(frames=400, batches=4, version=4)
    assert folder.newest.state_file.read_bytes() == STATE
    assert folder.journal.last_noted == Position(version=7, frames_lost=500)
    assert list(written.glob(".unfinished-*")) == []
    folder.write(Position(frames=600), b"state")
    assert sorted(one.name for one in written.glob("checkpoint-*")) == ["checkpoint-000012", "checkpoint-000013"]


def test_after_a_rollback_the_previous_release_goes_on_from_the_newest(written: Path) -> None:
    folder = opened(written)
    folder.write(Position(frames=600), b"state")
    folder.journal.note(700, 9)
    assert read_as_the_previous_release(written) == {"run": "run-1", "starts": 4, "frames": 600, "noted": (700, 9)}


def test_a_driver_after_a_rollback_counts_the_drivers_of_the_previous_release(written: Path) -> None:
    opened(written).close()
    whose = json.loads((written / "fleet.json").read_text())
    (written / "fleet.json").write_text(json.dumps(whose | {"starts": whose["starts"] + 5}))
    assert opened(written).starts == 9


def test_a_checkpoint_of_a_newer_format_is_refused_before_anybody_loses_the_folder(written: Path) -> None:
    newer = opened(written)
    newer.write(Position(frames=600), b"state")
    file = written / "checkpoint-000013/checkpoint.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"format": 2}))
    said = (
        "checkpoint-000013 has format 2, but this release reads only formats up to 1. Use an image of the release that"
    )
    with pytest.raises(InvalidOption, match=said):
        opened(written)
    newer.write(Position(frames=700), b"state")
    assert sorted(one.name for one in written.glob("checkpoint-*")) == ["checkpoint-000013", "checkpoint-000014"]


def test_counters_that_only_a_newer_release_has_are_no_obstacle(written: Path) -> None:
    file = written / "checkpoint-000012/checkpoint.json"
    counters = json.loads(file.read_text())
    file.write_text(json.dumps(counters | {"position": counters["position"] | {"episodes": 7}, "host": "gpu-1"}))
    newest = opened(written).newest
    assert newest is not None
    assert newest.position == Position(frames=400, batches=4, version=4)


def test_the_page_of_versions_has_the_format_that_is_written() -> None:
    assert f"contains the number of its format, now {FORMAT}. " in (ROOT / "docs/versions.md").read_text()
