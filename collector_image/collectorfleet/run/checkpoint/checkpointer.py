"""Writes checkpoints: a snapshot is taken on the main thread, one at a time is then written on a thread of its own.

A checkpoint that cannot be written is said in the log and in the status, and costs no run; unless another driver has
taken over the folder.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from collectorfleet.errors import CollectorFleetError, FolderTakenOver, describe, one_sentence
from collectorfleet.run.checkpoint.folder import CheckpointFolder
from collectorfleet.run.checkpoint.kept_buffer import KeptBuffer
from collectorfleet.run.checkpoint.training_state import TrainingState
from collectorfleet.run.fenced_folder import remove
from collectorfleet.run.position import Position
from collectorfleet_api.v1alpha1 import CheckpointStatus

log = logging.getLogger(__name__)

# A publish on its way when a batch is handed out, and the one of that batch.
VERSIONS_AHEAD: Final = 2


@dataclass(frozen=True)
class _Snapshot:
    """Of one moment. ``replay_buffer`` is where the dump of one is, if it is kept."""

    state: memoryview
    replay_buffer: Path | None = None


class Checkpointer:
    """Writes ``state`` into ``folder``. The :class:`~collectorfleet.run.checkpoint.interface.Checkpoints` of a run."""

    def __init__(
        self,
        folder: CheckpointFolder,
        state: TrainingState,
        every: timedelta,
        taken_over: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``taken_over`` is called, by any thread, with the sentence that says which driver has the folder now."""
        self._folder = folder
        self._state = state
        self._taken_over = taken_over
        self._every_seconds = every.total_seconds()
        self._clock = clock
        self._last = clock()
        self._failure: str | None = None
        self._buffer: KeptBuffer | None = None
        self._beside: list[Callable[[], None]] = []
        self._writing: threading.Thread | None = None

    @property
    def status(self) -> CheckpointStatus | None:
        newest, failure = self._folder.newest, self._failure
        if newest is None:
            return None if failure is None else CheckpointStatus(frames=0, failure=failure)
        return CheckpointStatus(frames=newest.position.frames, time=newest.time, failure=failure)

    @property
    def due(self) -> bool:
        """Also says no while one is being written."""
        is_time = self._clock() - self._last >= self._every_seconds
        return is_time and not (self._writing and self._writing.is_alive())

    def keep(self, objects: Mapping[str, Any]) -> bool:
        return self._state.keep(objects)

    def keep_buffer(self, buffer: Any) -> None:
        self._buffer = KeptBuffer(buffer)
        newest = self._folder.newest
        if newest is not None and newest.replay_buffer is not None:
            self._buffer.load(newest.replay_buffer)

    def keep_beside(self, write: Callable[[], None]) -> None:
        self._beside.append(write)

    def note(self, position: Position) -> None:
        try:
            self._folder.journal.note(position.frames_ever, position.version + VERSIONS_AHEAD)
        except OSError as error:
            self._failed(error)

    def write_in_background(self, position: Position) -> None:
        self._last = self._clock()
        try:
            snapshot = self._snapshot()
        except Exception as error:
            if isinstance(error, CollectorFleetError) and self._folder.newest is None:
                raise
            self._failed(error)
            return
        self._writing = threading.Thread(target=self._write, args=[position, snapshot], name="checkpoint")
        self._writing.start()

    def write(self, position: Position, *, completed: bool = False) -> bool:
        self.wait()
        self._last = self._clock()
        try:
            snapshot = self._snapshot()
        except Exception as error:  # noqa: BLE001  (the user's objects may raise anything)
            self._failed(error)
            return False
        return self._write(position, snapshot, completed=completed)

    def wait(self) -> None:
        """Block until nothing is being written."""
        if self._writing:
            self._writing.join()

    def _snapshot(self) -> _Snapshot:
        for write in self._beside:
            write()
        state, buffer = self._state.dumps(), self._buffer
        if buffer is None:
            return _Snapshot(state)
        place, started = self._folder.place_for_replay_buffer(), time.monotonic()
        try:
            with self._folder.files.watched():
                if not buffer.dump(place):
                    return _Snapshot(state)
        except Exception:
            # On a full volume it would keep the room that others need.
            with suppress(OSError):
                remove(place)
            raise
        log.info("the replay buffer was dumped in %.2f s", time.monotonic() - started)
        return _Snapshot(state, place)

    def _write(self, position: Position, snapshot: _Snapshot, *, completed: bool = False) -> bool:
        started, state = time.monotonic(), snapshot.state
        try:
            self._folder.write(position, state, completed=completed, replay_buffer=snapshot.replay_buffer)
        except Exception as error:  # noqa: BLE001  (whatever it is, the run goes on)
            self._failed(error)
            return False
        self._failure = None
        seconds = time.monotonic() - started
        written = position.frames, position.version, state.nbytes
        log.info("checkpoint at %d frames, version %d: %d bytes in %.2f s", *written, seconds)
        return True

    def _failed(self, error: Exception) -> None:
        if isinstance(error, FolderTakenOver):
            self._taken_over(f"checkpoints in {error}")
        cause = one_sentence(describe(error))
        if cause != self._failure:
            log.warning("no checkpoint in %s, trying on: %s", self._folder.path, cause)
        self._failure = cause
