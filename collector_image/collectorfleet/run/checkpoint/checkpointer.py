"""Write checkpoints: take a snapshot on the main thread, and write one snapshot at a time in another thread.

If a write fails, the log and the status report the error, and the run continues. If another driver has taken over the
folder, the run ends. A write is not interrupted.

The training function may be interrupted in the middle of a batch. Its states then match neither the previous batch nor
the current batch. So the checkpointer copies the states to memory between two batches. Copies are made so rarely that
they take at most 1 % of the time.
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

from collectorfleet.durable_files import describe_failure, is_full, name_path
from collectorfleet.errors import CollectorFleetError, FolderTakenOver, describe, one_sentence
from collectorfleet.run.checkpoint.folder import CheckpointFolder
from collectorfleet.run.checkpoint.kept_buffer import KeptBuffer
from collectorfleet.run.checkpoint.training_state import TrainingState
from collectorfleet.run.folders import remove
from collectorfleet.run.position import Position
from collectorfleet_api.v1alpha1 import CheckpointStatus

log = logging.getLogger(__name__)

# When a batch is delivered, one publish may be in progress, and the training on the batch publishes another version.
VERSIONS_AHEAD: Final = 2
_REMEMBERING_COSTS: Final = 0.01
# The timeout is long, because each learner writes its checkpoint between two of its calls.
_ACTORS_WITHIN: Final = timedelta(hours=1)
# The timeout is short, because the next driver waits, and the run may end because some learners are lost.
_ACTORS_OF_A_LOST_RUN_WITHIN: Final = timedelta(minutes=1)
# The assumed duration of a checkpoint, until the first checkpoint is written.
_SECONDS_AT_FIRST: Final = 5.0
_COUNTED: Final = 5


@dataclass(frozen=True)
class _Snapshot:
    """The training state at one moment, and the path of the replay buffer's dump, if checkpoints include the buffer."""

    state: memoryview
    replay_buffer: Path | None = None


class Checkpointer:
    """Writes ``state`` into ``folder``.

    Implements :class:`~collectorfleet.run.checkpoint.interface.Checkpoints` for a run.
    """

    def __init__(
        self,
        folder: CheckpointFolder,
        state: TrainingState,
        every: timedelta,
        taken_over: Callable[[str], None],
        uninterrupted: Callable[[], AbstractContextManager[None]] = nullcontext,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``taken_over`` gets a sentence that names the driver that took over the folder. Any thread may call it.

        ``uninterrupted`` returns a context manager that protects the main thread from interrupts.
        """
        self._folder = folder
        self._state = state
        self._taken_over = taken_over
        self._every_seconds = every.total_seconds()
        self._clock = clock
        self._last = clock()
        self._failure: str | None = None
        # The cause without the number of free bytes. This number differs between tries, so the same cause would
        # otherwise be logged at each try.
        self._cause: object = None
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
        """Whether it is time for the next checkpoint. False while a checkpoint is being written."""
        is_time = self._clock() - self._last >= self._every_seconds
        return is_time and not (self._writing and self._writing.is_alive())

    @property
    def is_restored(self) -> bool:
        return self._state.is_restored

    def keep(self, objects: Mapping[str, Any]) -> bool:
        return self._state.keep(objects)

    def keep_buffer(self, buffer: Any) -> None:
        self._buffer = KeptBuffer(buffer)
        newest = self._folder.newest
        if newest is not None and newest.replay_buffer is not None:
            self._buffer.load(newest.replay_buffer)

    def add_writer(self, write: Callable[[timedelta], None]) -> None:
        self._beside.append(write)

    def note(self, position: Position) -> None:
        try:
            self._folder.journal.note(position.frames_ever, position.version + VERSIONS_AHEAD)
        except OSError as error:
            self._failed(error)

    def seconds(self) -> float:
        """Return the longest duration of the last five checkpoints, or 5 s before the first checkpoint.

        Any thread may call this method.
        """
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
            # Remember this state, too, because writing the state may fail.
            self._remembered = None if self._beside else (position, state)
            self._writing = threading.Thread(target=self._write, args=[position, snapshot, started], name="checkpoint")
            self._writing.start()

    def write(self, position: Position, *, completed: bool = False, soon: bool = False) -> bool:
        within = _ACTORS_OF_A_LOST_RUN_WITHIN if soon else _ACTORS_WITHIN
        return self._write_now(position, None, completed=completed, within=within)

    def remember(self, position: Position, *, at_any_cost: bool = False) -> None:
        now = self._clock()
        is_cheap = (now - self._remembered_at) * _REMEMBERING_COSTS >= self._remembering_seconds
        # Some states in the checkpoint may belong to objects that are registered later. The remembered state would lack
        # these states.
        if self._beside or not (at_any_cost or (is_cheap and self._state.is_restored)):
            return
        with self._uninterrupted():
            self._remembered = None
            # If a state cannot be serialized, the next checkpoint reports the error.
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
                self._remembered = None  # older than the written checkpoint
            return is_written

    def wait(self) -> None:
        """Block until no checkpoint is being written."""
        if self._writing:
            self._writing.join()

    def _states(self, within: timedelta = _ACTORS_WITHIN) -> memoryview:
        for write in self._beside:
            write(within)
        return self._state.dumps()

    def _snapshot(self, state: memoryview) -> _Snapshot:
        """Return ``state``, and a dump of the replay buffer if checkpoints include it. Blocks during the dump."""
        buffer = self._buffer
        if buffer is None:
            return _Snapshot(state)
        place, started = self._folder.place_for_replay_buffer(), self._clock()
        try:
            with self._folder.files.reporting_takeover():
                if not buffer.dump(place):
                    return _Snapshot(state)
        except Exception as error:
            if isinstance(error, OSError):
                name_path(error, self._folder.path)
            # Remove the unfinished dump, which would take space on a full volume.
            with suppress(OSError):
                remove(place)
            raise
        log.info("the replay buffer was dumped in %.2f s", self._clock() - started)
        return _Snapshot(state, place)

    def _write(self, position: Position, snapshot: _Snapshot, began: float, *, completed: bool = False) -> bool:
        started, state = self._clock(), snapshot.state
        try:
            self._folder.write(position, state, completed=completed, replay_buffer=snapshot.replay_buffer)
        except Exception as error:  # noqa: BLE001  (the run continues after any error)
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
        failure = describe_failure(error) if isinstance(error, OSError) else describe(error)
        if isinstance(error, OSError) and is_full(error) and size_bytes is not None:
            failure += f" for a checkpoint of {size_bytes:,} bytes"
        self._failure = one_sentence(failure)
        cause = _cause_of(error)
        if cause != self._cause:
            log.warning("cannot write a checkpoint to %s; trying again: %s", self._folder.path, self._failure)
        self._cause = cause


def _cause_of(error: Exception) -> object:
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno, error.filename
    return describe(error)
