"""A fleet's checkpoints on disk: what its next driver goes on from.

::

    <folder>/
      fleet.json                {"fleet": ..., "run": ..., "starts": ...}: whose folder this is
      journal                   how far the driver was, to the batch
      checkpoint-000011/        state.pt, and checkpoint.json with the counters and the digest of the state
      checkpoint-000012/        and replay-buffer/ of a run that keeps it

The checkpoint before the newest is kept: one that cannot be read is passed over for the one before.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from collectorfleet.durable_files import UNFINISHED
from collectorfleet.errors import CollectorFleetError, UserCodeError, describe
from collectorfleet.run.checkpoint.checkpoint import Checkpoint
from collectorfleet.run.checkpoint.checkpoint_files import (
    name_of,
    numbers_in,
    read_checkpoint,
    remove,
    write_checkpoint,
)
from collectorfleet.run.checkpoint.journal import Journal
from collectorfleet.run.checkpoint.owner import count_driver, owner_of
from collectorfleet.run.history import RunHistory
from collectorfleet.run.position import Position

log = logging.getLogger(__name__)

_JOURNAL: Final = "journal"


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
            owner = owner_of(path, fleet, run)
            self.run, self.starts = owner.run, owner.starts
            # Before anything is written: it may be what fills the volume.
            for left in path.glob(f"{UNFINISHED}*"):
                remove(left)
            count_driver(path, fleet, owner)
            self.journal = Journal(path / _JOURNAL)
            self.newest = self._newest()
        except CollectorFleetError:
            raise
        except (OSError, ValueError, KeyError) as error:
            raise UserCodeError.of(f"checkpoints in {path}", error) from error

    def close(self) -> None:
        self.journal.close()

    def history(self, *records: Position, drivers: int = 0) -> RunHistory:
        """What this folder tells of the drivers before this one, with ``records`` that others have of them.

        ``drivers`` is how many there were by the fleet's status: it has those that found the volume full, and this
        folder those of a fleet that was made again.
        """
        records = (*records, self.journal.last_noted)
        return RunHistory(self.run, max(self.starts, drivers), self.newest, records)

    def place_for_replay_buffer(self) -> Path:
        """Where to dump one for :meth:`write`: there is nothing there. Raises OSError."""
        place = self.path / f"{UNFINISHED}replay-buffer"
        if place.exists():  # of a try that failed
            remove(place)
        return place

    def write(
        self,
        position: Position,
        state: bytes | memoryview,
        *,
        completed: bool = False,
        replay_buffer: Path | None = None,
    ) -> None:
        """Put a checkpoint on disk and remove those that are too old. Blocks; raises OSError."""
        number = max(numbers_in(self.path), default=0) + 1
        written = write_checkpoint(self.path, number, position, state, completed=completed, replay_buffer=replay_buffer)
        # One that could not be read is not worth keeping: beside the new one stays the one that was read.
        kept = {number} if self.newest is None else {number, self.newest.number}
        for old in numbers_in(self.path):
            if old not in kept:
                remove(self.path / name_of(old))
        self.newest = written

    def _newest(self) -> Checkpoint | None:
        """The newest that can be read; None where none was ever written."""
        numbers = numbers_in(self.path)
        for number in numbers:
            try:
                return read_checkpoint(self.path, number)
            except (OSError, ValueError, KeyError, TypeError) as error:
                cause = describe(error)
                log.warning("%s in %s cannot be read and is passed over: %s", name_of(number), self.path, cause)
        if numbers:
            raise UserCodeError(
                f"checkpoints in {self.path}",
                f"none of {len(numbers)} can be read; restore one, or empty the folder to start over ({cause})",
            )
        return None
