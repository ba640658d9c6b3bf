"""Writes checkpoints: a snapshot is taken on the main thread, one at a time is then written on a thread of its own.

If a checkpoint cannot be written, log and status say so, and the run continues, unless another driver has taken over
the folder. A write is not interrupted.

The training function may be interrupted in the middle of a batch, when its states fit neither the batch before nor the
batch after. So the states between two batches are remembered, as often as it costs 1 % of the time at most.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from collectorfleet.durable_files import failure_of, is_full
from collectorfleet.errors import CollectorFleetError, FolderTakenOver, describe, one_sentence
from collectorfleet.run.checkpoint.folder import CheckpointFolder
from collectorfleet.run.checkpoint.kept_buffer import KeptBuffer
from collectorfleet.run.checkpoint.training_state import TrainingState
from collectorfleet.run.folders import remove
from collectorfleet.run.position import Position
from collectorfleet_api.v1alpha1 import CheckpointStatus

log = logging.getLogger(__name__)

# A publish on its way when a batch is handed out, and the one of that batch.
VERSIONS_AHEAD: Final = 2
_REMEMBERING_COSTS: Final = 0.01
# Learners write what they are between two of their calls.
_ACTORS_WITHIN: Final = timedelta(hours=1)
# The next driver waits for this one, which may end because some of them are lost.
_ACTORS_OF_A_LOST_RUN_WITHIN: Final = timedelta(minutes=1)
# As long as none was written.
_SECONDS_AT_FIRST: Final = 5.0
_COUNTED: Final = 5


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
        uninterrupted: Callable[[], AbstractContextManager[None]] = nullcontext,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``taken_over`` is called, by any thread, with the sentence that says which driver has the folder now.
        Within ``uninterrupted`` the main thread is left to its work.
        """
        self._folder = folder
        self._state = state
        self._taken_over = taken_over
        self._every_seconds = every.total_seconds()
        self._clock = clock
        self._last = clock()
        self._failure: str | None = None
        # Without the room that is left, which changes from try to try.
        self._cause: str | None = None
        self._buffer: KeptBuffer | None = None
        self._beside: list[Callable[[timedelta], None]] = []
        self._writing: threading.Thread | None = None
        self._uninterrupted = uninterrupted
        self._remembered: tuple[Position, memoryview] | None = None
        self._remembered_at, self._remembering_seconds = 0.0, 0.0
        self._seconds: deque[float] = deque(maxlen=_COUNTED)

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

    def keep_beside(self, write: Callable[[timedelta], None]) -> None:
        self._beside.append(write)

    def note(self, position: Position) -> None:
        try:
            self._folder.journal.note(position.frames_ever, position.version + VERSIONS_AHEAD)
        except OSError as error:
            self._failed(error)

    def seconds(self) -> float:
        """How long one took, the longest of the last five; a guess as long as there is none. Any thread may ask."""
        return max(tuple(self._seconds), default=_SECONDS_AT_FIRST)

    def write_in_background(self, position: Position) -> None:
        self._last = self._clock()
        with self._uninterrupted():
            started = self._clock()
            try:
                state = self._states()
                snapshot = self._snapshot(state)
            except Exception as error:
                if isinstance(error, CollectorFleetError) and self._folder.newest is None:
                    raise
                self._failed(error)
                return
            # Also of this one, which may not come to be on disk.
            self._remembered = None if self._beside else (position, state)
            self._writing = threading.Thread(target=self._write, args=[position, snapshot, started], name="checkpoint")
            self._writing.start()

    def write(self, position: Position, *, completed: bool = False, soon: bool = False) -> bool:
        within = _ACTORS_OF_A_LOST_RUN_WITHIN if soon else _ACTORS_WITHIN
        return self._write_now(position, None, completed=completed, within=within)

    def remember(self, position: Position, *, at_any_cost: bool = False) -> None:
        now = self._clock()
        is_cheap = (now - self._remembered_at) * _REMEMBERING_COSTS >= self._remembering_seconds
        # Not while states wait for objects that the training function will keep later: they would be left out.
        if self._beside or not (at_any_cost or (is_cheap and self._state.is_restored)):
            return
        with self._uninterrupted():
            self._remembered = None
            # What cannot be written, the next checkpoint says.
            with suppress(Exception):
                self._remembered = position, self._state.dumps()
            self._remembered_at = self._clock()
            self._remembering_seconds = self._remembered_at - now

    def write_remembered(self, position: Position) -> bool:
        if self._beside:
            return self._write_now(position, None, within=_ACTORS_OF_A_LOST_RUN_WITHIN)
        self.wait()
        if self._remembered is None:
            return False
        position, state = self._remembered
        newest = self._folder.newest
        if newest is not None and newest.position == position:
            return True
        return self._write_now(position, state)

    def _write_now(
        self,
        position: Position,
        state: memoryview | None,
        *,
        completed: bool = False,
        within: timedelta = _ACTORS_WITHIN,
    ) -> bool:
        with self._uninterrupted():
            self.wait()
            self._last = started = self._clock()
            try:
                snapshot = self._snapshot(self._states(within) if state is None else state)
            except Exception as error:  # noqa: BLE001  (the user's objects may raise anything)
                self._failed(error)
                return False
            is_written = self._write(position, snapshot, started, completed=completed)
            if is_written and state is None:
                self._remembered = None  # it is older
            return is_written

    def wait(self) -> None:
        """Block until nothing is being written."""
        if self._writing:
            self._writing.join()

    def _states(self, within: timedelta = _ACTORS_WITHIN) -> memoryview:
        for write in self._beside:
            write(within)
        return self._state.dumps()

    def _snapshot(self, state: memoryview) -> _Snapshot:
        """``state`` with what is kept beside it."""
        buffer = self._buffer
        if buffer is None:
            return _Snapshot(state)
        place, started = self._folder.place_for_replay_buffer(), self._clock()
        try:
            with self._folder.files.watched():
                if not buffer.dump(place):
                    return _Snapshot(state)
        except Exception:
            # On a full volume it would keep the room that others need.
            with suppress(OSError):
                remove(place)
            raise
        log.info("the replay buffer was dumped in %.2f s", self._clock() - started)
        return _Snapshot(state, place)

    def _write(self, position: Position, snapshot: _Snapshot, began: float, *, completed: bool = False) -> bool:
        started, state = self._clock(), snapshot.state
        try:
            self._folder.write(position, state, completed=completed, replay_buffer=snapshot.replay_buffer)
        except Exception as error:  # noqa: BLE001  (whatever it is, the run goes on)
            self._failed(error, state.nbytes)
            return False
        self._failure = self._cause = None
        ended = self._clock()
        self._seconds.append(ended - began)
        written = position.frames, position.version, state.nbytes
        log.info("checkpoint at %d frames, version %d: %d bytes in %.2f s", *written, ended - started)
        return True

    def _failed(self, error: Exception, size_bytes: int | None = None) -> None:
        if isinstance(error, FolderTakenOver):
            self._taken_over(f"checkpoints in {error}")
        cause = describe(error)
        failure = failure_of(error) if isinstance(error, OSError) else cause
        if isinstance(error, OSError) and is_full(error) and size_bytes is not None:
            failure += f" for a checkpoint of {size_bytes:,} bytes"
        self._failure = one_sentence(failure)
        if cause != self._cause:
            log.warning("cannot write a checkpoint to %s; trying again: %s", self._folder.path, self._failure)
        self._cause = cause
