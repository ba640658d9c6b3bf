"""A fleet's checkpoints on disk: what its next driver goes on from.

::

    <folder>/
      fleet.json                {"fleet": ..., "run": ..., "starts": ...}: whose folder this is
      marks                     how far the driver was, to the batch
      checkpoint-000011/        state.pt, and checkpoint.json with the counters and the digest of the state
      checkpoint-000012/

A checkpoint is written under another name and renamed, and the one before it is kept. One that cannot be read is passed
over for the one before. Whose state it is and how it is made is not known here.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import shutil
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from collectorfleet.errors import CollectorFleetError, InvalidOption, UserCodeError, describe
from collectorfleet.run.checkpoint.journal import Marks
from collectorfleet.run.durable import UNFINISHED, rename_folder, write_json
from collectorfleet.run.position import Position

log = logging.getLogger(__name__)

KEPT: Final = 2
_FLEET: Final = "fleet.json"
_MARKS: Final = "marks"
_COUNTERS: Final = "checkpoint.json"
_STATE: Final = "state.pt"


@dataclass(frozen=True)
class Checkpoint:
    """A whole one. ``completed``: its run had nothing left to do."""

    number: int
    position: Position
    time: datetime
    completed: bool
    state: Path


class CheckpointFolder:
    """The checkpoints of one fleet. One driver at a time; one thread at a time."""

    def __init__(self, path: Path, *, fleet: str, run: str) -> None:
        """Make the folder, or take up what is in it.

        ``run`` names the run if it begins here; ``starts`` counts the drivers before this one. Raises InvalidOption if
        the folder holds something else, and UserCodeError if it cannot be written to or holds only checkpoints that
        cannot be read.
        """
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            self.run, self.starts = self._taken_up(fleet, run)
            self.marks = Marks(path / _MARKS)
            for left in path.glob(f"{UNFINISHED}*"):
                _remove(left)
            self.newest = self._newest()
        except CollectorFleetError:
            raise
        except (OSError, ValueError, KeyError) as error:
            raise UserCodeError.of(f"checkpoints in {path}", error) from error

    def close(self) -> None:
        self.marks.close()

    def write(self, position: Position, state: bytes | memoryview, *, completed: bool = False) -> None:
        """Put a checkpoint on disk and remove those that are too old. Blocks; raises OSError."""
        number = max(self._numbers(), default=0) + 1
        time = datetime.now(UTC)
        name = _name(number)
        unfinished = self.path / (UNFINISHED + name)
        if unfinished.exists():  # of a try that failed
            _remove(unfinished)
        unfinished.mkdir()
        (unfinished / _STATE).write_bytes(state)
        counters = {
            "position": asdict(position),
            "time": time.isoformat(),
            "completed": completed,
            "sha256": hashlib.sha256(state).hexdigest(),
        }
        (unfinished / _COUNTERS).write_text(json.dumps(counters, indent=1))
        rename_folder(unfinished, self.path / name)
        # Those that could not be read are none of the kept ones.
        kept = {number} if self.newest is None else {number, self.newest.number}
        for old in self._numbers():
            if old not in kept:
                _remove(self.path / _name(old))
        self.newest = Checkpoint(number, position, time, completed, self.path / name / _STATE)

    def _taken_up(self, fleet: str, run: str) -> tuple[str, int]:
        """The run, and how many drivers it had before this one."""
        file = self.path / _FLEET
        starts = 0
        if file.exists():
            found = json.loads(file.read_text())
            if found["fleet"] != fleet:
                raise InvalidOption(
                    f"checkpoints in {self.path}: they are of fleet {found['fleet']}, and this is fleet {fleet}; "
                    "name another folder"
                )
            run, starts = str(found["run"]), int(found["starts"])
        elif holds_anything(self.path):
            raise InvalidOption(
                f"checkpoints in {self.path}: the folder is not empty and holds no fleet's checkpoints; "
                "name another, or an empty one"
            )
        write_json(file, {"fleet": fleet, "run": run, "starts": starts + 1})
        return run, starts

    def _newest(self) -> Checkpoint | None:
        numbers = self._numbers()
        for number in numbers:
            try:
                return self._read(number)
            except (OSError, ValueError, KeyError, TypeError) as error:
                cause = describe(error)
                log.warning("%s in %s cannot be read and is passed over: %s", _name(number), self.path, cause)
        if numbers:
            raise UserCodeError(
                f"checkpoints in {self.path}",
                f"none of {len(numbers)} can be read; restore one, or empty the folder to start over ({cause})",
            )
        return None

    def _read(self, number: int) -> Checkpoint:
        folder = self.path / _name(number)
        counters: dict[str, Any] = json.loads((folder / _COUNTERS).read_text())
        with (folder / _STATE).open("rb") as state:
            digest = hashlib.file_digest(state, "sha256").hexdigest()
        if digest != counters["sha256"]:
            raise ValueError(f"{_STATE} is not what was written")
        return Checkpoint(
            number,
            Position.from_json(counters["position"]),
            datetime.fromisoformat(counters["time"]),
            bool(counters["completed"]),
            folder / _STATE,
        )

    def _numbers(self) -> list[int]:
        """Of all checkpoints, the newest first."""
        found = (re.fullmatch(r"checkpoint-(\d+)", path.name) for path in self.path.iterdir())
        return sorted((int(match[1]) for match in found if match), reverse=True)


def holds_anything(path: Path) -> bool:
    """Whether there is anything in the folder but what a killed driver was about to write."""
    return path.exists() and any(not one.name.startswith(UNFINISHED) for one in path.iterdir())


def _name(number: int) -> str:
    return f"checkpoint-{number:06d}"


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
