"""One checkpoint on disk: a folder with the state, and beside it the counters and the state's digest.

It is written under another name and renamed, and read only if the digest is that of the state. What is in the state,
and who made it, is not known here.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from collectorfleet.run.checkpoint.checkpoint import Checkpoint
from collectorfleet.run.durable_files import UNFINISHED, rename_folder
from collectorfleet.run.position import Position

_COUNTERS: Final = "checkpoint.json"
_STATE: Final = "state.pt"


def name_of(number: int) -> str:
    """Of a checkpoint's folder."""
    return f"checkpoint-{number:06d}"


def numbers_in(folder: Path) -> list[int]:
    """Of all checkpoints in ``folder``, whole or not, the newest first."""
    found = (re.fullmatch(r"checkpoint-(\d+)", path.name) for path in folder.iterdir())
    return sorted((int(match[1]) for match in found if match), reverse=True)


def write_checkpoint(
    folder: Path, number: int, position: Position, state: bytes | memoryview, *, completed: bool
) -> Checkpoint:
    """Put a checkpoint into ``folder``, whole or not at all. Blocks until it is on disk; raises OSError."""
    time = datetime.now(UTC)
    unfinished = folder / (UNFINISHED + name_of(number))
    if unfinished.exists():  # of a try that failed
        remove(unfinished)
    unfinished.mkdir()
    (unfinished / _STATE).write_bytes(state)
    counters = {
        "position": asdict(position),
        "time": time.isoformat(),
        "completed": completed,
        "sha256": hashlib.sha256(state).hexdigest(),
    }
    (unfinished / _COUNTERS).write_text(json.dumps(counters, indent=1))
    finished = folder / name_of(number)
    rename_folder(unfinished, finished)
    return Checkpoint(number, position, time, completed, finished / _STATE)


def read_checkpoint(folder: Path, number: int) -> Checkpoint:
    """Raises OSError, ValueError, KeyError or TypeError where it is not what was written."""
    found = folder / name_of(number)
    counters: dict[str, Any] = json.loads((found / _COUNTERS).read_text())
    with (found / _STATE).open("rb") as state:
        digest = hashlib.file_digest(state, "sha256").hexdigest()
    if digest != counters["sha256"]:
        raise ValueError(f"{_STATE} is not what was written")
    return Checkpoint(
        number,
        Position.from_json(counters["position"]),
        datetime.fromisoformat(counters["time"]),
        bool(counters["completed"]),
        found / _STATE,
    )


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
