"""When checkpoints are written: when the next batch is asked for, as the last one is worked off then, and at the end.

A snapshot is taken on the caller's thread; one at a time is then written on a thread of its own. A checkpoint that
cannot be written is said in the log and in the status, and costs no run.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from collectorfleet.errors import CollectorFleetError, describe, one_sentence
from collectorfleet.run.checkpoint.folder import CheckpointFolder
from collectorfleet.run.checkpoint.training_state import TrainingState
from collectorfleet.run.position import Position
from collectorfleet_api.v1alpha1 import CheckpointStatus

log = logging.getLogger(__name__)

# A publish on its way when a batch is handed out, and the one of that batch.
VERSIONS_AHEAD = 2


class Checkpointer:
    """Writes into ``folder`` for a run that begins at ``position``. All calls are the training thread's."""

    def __init__(
        self,
        folder: CheckpointFolder,
        state: TrainingState,
        position: Position,
        every: timedelta,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._state = state
        self._position: Callable[[], Position] = lambda: position
        self._every_seconds = every.total_seconds()
        self._clock = clock
        self._last = clock()
        self._failure: str | None = None
        self._writing: threading.Thread | None = None
        self.mark()

    def follow(self, position: Callable[[], Position]) -> None:
        """Ask ``position`` where the run is, from now on."""
        self._position = position

    @property
    def status(self) -> CheckpointStatus | None:
        """Of any thread: the newest checkpoint, and why there is no newer one."""
        newest, failure = self._folder.newest, self._failure
        if newest is None:
            return None if failure is None else CheckpointStatus(frames=0, failure=failure)
        return CheckpointStatus(frames=newest.position.frames, time=newest.time, failure=failure)

    def keep(self, objects: Mapping[str, Any]) -> bool:
        """See :meth:`collectorfleet.run.handle.Run.keep`."""
        return self._state.keep(objects)

    def mark(self) -> None:
        """Note how far the run is, in microseconds: as a batch is handed out, and before versions are published."""
        now = self._position()
        try:
            self._folder.journal.note(now.frames_ever, now.version + VERSIONS_AHEAD)
        except OSError as error:
            self._failed(error)

    def when_due(self) -> None:
        """Write a checkpoint in the background, if it is time and none is being written.

        Raises UserCodeError if what is kept cannot be written, before there ever was a checkpoint.
        """
        if self._clock() - self._last < self._every_seconds or (self._writing and self._writing.is_alive()):
            return
        self._last = self._clock()
        try:
            snapshot = self._position(), self._state.dumps()
        except Exception as error:
            if isinstance(error, CollectorFleetError) and self._folder.newest is None:
                raise
            self._failed(error)
            return
        self._writing = threading.Thread(target=self._write, args=snapshot, name="checkpoint")
        self._writing.start()

    def now(self, *, completed: bool = False) -> bool:
        """Write a checkpoint; blocks until it is on disk. Returns whether it is."""
        self.wait()
        self._last = self._clock()
        try:
            state = self._state.dumps()
        except Exception as error:  # noqa: BLE001  (the user's objects may raise anything)
            self._failed(error)
            return False
        return self._write(self._position(), state, completed=completed)

    def wait(self) -> None:
        """Block until nothing is being written."""
        if self._writing:
            self._writing.join()

    def _write(self, position: Position, state: memoryview, *, completed: bool = False) -> bool:
        started = time.monotonic()
        try:
            self._folder.write(position, state, completed=completed)
        except Exception as error:  # noqa: BLE001  (whatever it is, the run goes on)
            self._failed(error)
            return False
        self._failure = None
        seconds = time.monotonic() - started
        log.info("checkpoint at %d frames, version %d: %d bytes in %.2f s", *_logged(position, state), seconds)
        return True

    def _failed(self, error: Exception) -> None:
        cause = one_sentence(describe(error))
        if cause != self._failure:
            log.warning("no checkpoint in %s, trying on: %s", self._folder.path, cause)
        self._failure = cause


def _logged(position: Position, state: memoryview) -> tuple[int, int, int]:
    return position.frames, position.version, state.nbytes
