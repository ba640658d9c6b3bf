"""A fleet's checkpoints on disk: what its next driver goes on from.

::

    <folder>/
      fleet.json                {"fleet": ..., "run": ..., "starts": ...}: whose folder this is
      journal                   how far the driver was, to the batch
      checkpoint-000011/        state.pt, and checkpoint.json with the counters and the digest of the state
      checkpoint-000012/        and replay-buffer/ of a run that keeps it

The checkpoint before the newest is kept: one that cannot be read is passed over for the one before. A driver that lost
its fleet can change none of this: see :mod:`collectorfleet.run.fenced_folder`.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from collectorfleet.durable_files import is_full, may_pass
from collectorfleet.errors import CollectorFleetError, InfrastructureError, UserCodeError, describe
from collectorfleet.run.checkpoint import owner
from collectorfleet.run.checkpoint.checkpoint_files import (
    check_format,
    name_of,
    newest_checkpoint,
    numbers_in,
    write_checkpoint,
)
from collectorfleet.run.checkpoint.journal import Journal
from collectorfleet.run.fenced_folder import FencedFolder
from collectorfleet.run.history import RunHistory
from collectorfleet.run.position import Position

log = logging.getLogger(__name__)

_JOURNAL: Final = "journal"
_REPLAY_BUFFER: Final = "replay-buffer"


class CheckpointFolder:
    """The checkpoints of one fleet, of which this driver is the only one from now on. One thread at a time."""

    def __init__(self, path: Path, *, fleet: str, run: str) -> None:
        """Make the folder, or resume from its content. Blocks until no earlier driver can change the folder.

        ``run`` names the run if it begins here; ``starts`` counts the drivers before this one. Raises InvalidOption if
        the folder has other content, and FolderTakenOver if another driver takes it at this moment. Raises
        InfrastructureError if the volume is full or fails. Raises UserCodeError if the folder cannot be written to, or
        if no checkpoint in it can be read.
        """
        self.path = path
        self._fleet = fleet
        try:
            path.mkdir(parents=True, exist_ok=True)
            # Before it is taken: it may be another fleet's.
            starts = owner.owner_of(path, fleet, run).starts
            for newest in numbers_in(path)[:1]:
                check_format(path, newest)
            self.files = FencedFolder(path)
            self._take(starts)
            with self.files.watched():
                # Again: until it was taken, another driver may have written.
                self.run = owner.owner_of(path, fleet, run).run
                self.starts = self.files.drivers_before
                self._say_whose()
                self.newest = newest_checkpoint(path)
                self.journal = Journal(self.files, _JOURNAL)
        except CollectorFleetError:
            raise
        except (OSError, ValueError, KeyError) as error:
            if isinstance(error, OSError) and may_pass(error):
                raise InfrastructureError.of(f"checkpoints in {path}", error) from error
            raise UserCodeError.of(f"checkpoints in {path}", error) from error

    def close(self) -> None:
        self.journal.close()

    def history(self, *records: Position, drivers: int = 0) -> RunHistory:
        """What this folder tells of the drivers before this one, with ``records`` that others have of them.

        ``drivers`` is the number of drivers by the fleet's status, which also has drivers that found the volume full.
        This folder also has the drivers of an earlier fleet of the same name.
        """
        records = (*records, self.journal.last_noted)
        return RunHistory(self.run, max(self.starts, drivers), self.newest, records)

    def place_for_replay_buffer(self) -> Path:
        """Where to dump one for :meth:`write`: there is nothing there. Raises FolderTakenOver or OSError."""
        return self.files.stage(_REPLAY_BUFFER)

    def write(
        self,
        position: Position,
        state: bytes | memoryview,
        *,
        completed: bool = False,
        replay_buffer: Path | None = None,
    ) -> None:
        """Put a checkpoint on disk and remove those that are too old. Blocks; raises FolderTakenOver or OSError."""
        number = max(numbers_in(self.path), default=0) + 1
        written = write_checkpoint(
            self.files, number, position, state, completed=completed, replay_buffer=replay_buffer
        )
        if not (self.path / owner.FILE).exists():  # somebody emptied the folder
            self._say_whose()
        # One that could not be read is not worth keeping: beside the new one stays the one that was read.
        kept = {number} if self.newest is None else {number, self.newest.number}
        self.newest = written
        for old in numbers_in(self.path):
            if old not in kept:
                self._remove(name_of(old))

    def _take(self, starts: int) -> None:
        try:
            self.files.take(drivers_before=starts)
        except OSError as error:
            self._pass_over_full(error)

    def _say_whose(self) -> None:
        try:
            self.files.put(owner.FILE, owner.to_json(self._fleet, self.run, self.starts + 1))
        except OSError as error:
            self._pass_over_full(error)

    def _pass_over_full(self, error: OSError) -> None:
        """A full volume costs the count of a later driver, and not its run: it is there to go on from a checkpoint."""
        if not (self.path / owner.FILE).exists() or not is_full(error):
            raise error
        log.warning("%s is full; the run continues: %s", self.path, describe(error))

    def _remove(self, name: str) -> None:
        """One that cannot be removed takes room, and makes the new one no worse."""
        try:
            self.files.remove(name)
        except OSError as error:
            log.warning("%s in %s is no longer needed, but cannot be removed: %s", name, self.path, describe(error))
