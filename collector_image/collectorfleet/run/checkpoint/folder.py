"""Manage the folder of a fleet's checkpoints, from which the next driver resumes.

::

    <folder>/
      fleet.json                {"fleet": ..., "run": ..., "starts": ...}: the owner of the folder
      journal                   the progress of the driver, updated with each batch
      checkpoint-000011/        state.pt, and checkpoint.json with the counters and the digest of the state
      checkpoint-000012/        also replay-buffer/, if checkpoints include it

The folder has the two newest checkpoints. If the newest checkpoint is damaged, a driver resumes from the previous
checkpoint. A driver that lost its fleet can change nothing in the folder: see :mod:`collectorfleet.run.fenced_folder`.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from collectorfleet.durable_files import describe_failure, is_full, is_temporary, name_path
from collectorfleet.errors import CollectorFleetError, InfrastructureError, UserCodeError, describe
from collectorfleet.run.checkpoint import owner
from collectorfleet.run.checkpoint.checkpoint_files import (
    check_format,
    free_number,
    name_of,
    newest_checkpoint,
    numbers_in,
    write_checkpoint,
)
from collectorfleet.run.checkpoint.journal import Journal
from collectorfleet.run.fenced_folder import FencedFolder
from collectorfleet.run.folders import make
from collectorfleet.run.history import RunHistory
from collectorfleet.run.position import Position

log = logging.getLogger(__name__)

JOURNAL: Final = "journal"
_REPLAY_BUFFER: Final = "replay-buffer"


class CheckpointFolder:
    """The checkpoints of one fleet. Only this driver can change them. Use the object in one thread at a time."""

    def __init__(self, path: Path, *, fleet: str, run: str) -> None:
        """Make the folder, or resume from its content. Blocks until no earlier driver can change the folder.

        A new folder gets the run name ``run``. A used folder keeps the name in its ``fleet.json``. Raises InvalidOption
        if the folder has other content or belongs to another fleet. Raises FolderTakenOver if another driver takes the
        folder at the same moment. Raises InfrastructureError if the volume is full or fails. Raises UserCodeError if
        the folder cannot be written to, or if all its checkpoints are damaged.
        """
        path = path.absolute()  # the user's code may change the current folder
        self.path = path
        self._fleet = fleet
        try:
            make(path)
            # Check the owner before taking the folder, because the folder may belong to another fleet.
            starts = owner.owner_of(path, fleet, run).starts
            for newest in numbers_in(path)[:1]:
                check_format(path, newest)
            self.files = FencedFolder(path)
            self._take(starts)
            with self.files.reporting_takeover():
                # Read the owner again, because another driver may have written fleet.json meanwhile.
                self.run = owner.owner_of(path, fleet, run).run
                self.starts = self.files.drivers_before
                self._say_whose()
                self.newest = newest_checkpoint(path)
                self.journal = Journal(self.files, JOURNAL)
        except CollectorFleetError:
            raise
        except OSError as error:
            name_path(error, path)
            cause = describe_failure(error)
            if is_temporary(error):
                raise InfrastructureError(f"checkpoints in {path}: {cause}") from error
            raise UserCodeError(f"checkpoints in {path}", cause) from error
        except (ValueError, KeyError) as error:
            raise UserCodeError.of(f"checkpoints in {path}", error) from error

    def close(self) -> None:
        self.journal.close()

    def history(self, *records: Position, drivers: int = 0) -> RunHistory:
        """Return the records that earlier drivers left in this folder, and ``records`` from other sources.

        ``drivers`` is the number of earlier drivers that the fleet's status shows. The result has the larger of this
        number and the folder's number. The status also counts drivers that could not write to a full volume. The folder
        also counts the drivers of an earlier fleet of the same name.
        """
        records = (*records, self.journal.last_noted)
        return RunHistory(self.run, max(self.starts, drivers), self.newest, records)

    def place_for_replay_buffer(self) -> Path:
        """Return a free path for the dump of a replay buffer, for :meth:`write`. Raises FolderTakenOver or OSError."""
        return self.files.stage(_REPLAY_BUFFER)

    def write(
        self,
        position: Position,
        state: bytes | memoryview,
        *,
        completed: bool = False,
        replay_buffer: Path | None = None,
    ) -> None:
        """Write a checkpoint to disk, and remove old checkpoints. Blocks. Raises FolderTakenOver or OSError."""
        number = free_number(self.path)
        written = write_checkpoint(
            self.files, number, position, state, completed=completed, replay_buffer=replay_buffer
        )
        if not (self.path / owner.FILE).exists():  # somebody emptied the folder
            self._say_whose()
        # Keep the new checkpoint and the last readable checkpoint. Damaged checkpoints are removed.
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
        """Log ``error`` if the volume is full and ``fleet.json`` exists. Raise any other error.

        On a full volume, only the count of drivers is lost.
        """
        if not (self.path / owner.FILE).exists() or not is_full(error):
            raise error
        log.warning("%s is full; the run continues: %s", self.path, describe_failure(error))

    def _remove(self, name: str) -> None:
        """Remove a checkpoint. Only log an OSError, because a leftover checkpoint only takes space."""
        try:
            self.files.remove(name)
        except OSError as error:
            log.warning("%s in %s is no longer needed, but cannot be removed: %s", name, self.path, describe(error))
