"""Between two batches of a run, check for requests to stop, and take checkpoints.

When the training function requests the next batch, it has processed the previous batch. Only at this moment, the
counters and the training state match, provided that the main thread iterates. With ``collector.start()``, another
thread iterates while the training function works, so counters and state may never match.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import islice
from typing import TypeVar

from collectorfleet.run.checkpoint.interface import Checkpoints
from collectorfleet.run.milestones import Milestone, log_milestone
from collectorfleet.run.position import Position
from collectorfleet.run.stop import StopRequest

T = TypeVar("T")


class BatchBoundary:
    """The boundary between two batches of one run."""

    def __init__(self, stop: StopRequest, checkpoints: Checkpoints) -> None:
        self._stop = stop
        self._checkpoints = checkpoints
        self._hooks: list[Callable[[], None]] = []
        self._position: Callable[[], Position] | None = None
        self._processed_position = Position()
        self._is_on_main_thread = True
        self._has_batch = False
        # True while the training function processes a batch or runs after the last batch. Its state may then change.
        self._is_processing = False

    @property
    def stop_requested(self) -> bool:
        """Whether there is a request to stop the run."""
        return self._stop.requested()

    @property
    def may_replace_checkpoint(self) -> bool:
        """Whether a new checkpoint may replace the checkpoint that the run resumes from.

        Before the first batch, the training function has learned nothing, and may register more objects later. Until
        then, only the checkpoint on disk has the states of these objects.
        """
        return self._has_batch or self._checkpoints.is_restored

    def call_between_batches(self, hook: Callable[[], None]) -> None:
        """Call ``hook`` before each request for a batch. The previous batch has then been processed."""
        self._hooks.append(hook)

    def batches(self, batches: Iterator[T], position: Callable[[], Position]) -> Iterator[T]:
        """Yield from ``batches`` until they end or a stop is requested. ``position`` returns the progress."""
        if self._position is None:
            self._processed_position = position()  # the position that the run resumes from
        self._position = position
        self._is_on_main_thread = threading.current_thread() is threading.main_thread()
        while not self._stop.requested():
            for hook in self._hooks:
                hook()
            if self._checkpoints.due and self.may_replace_checkpoint:
                self._checkpoints.write_in_background(position())
            elif self._is_processing and self._is_on_main_thread:
                self._checkpoints.remember(position())
            self._processed_position, self._is_processing = position(), False
            # The first batch may wait long for pods. A stop may interrupt this wait, because there is nothing to save
            # yet.
            with self._stop.interruptible() if not self._has_batch and self._is_on_main_thread else nullcontext():
                held = list(islice(batches, 1))
            self._is_processing = True
            if not held:
                break
            self._checkpoints.note(position())
            if not self._has_batch:
                log_milestone(Milestone.FIRST_BATCH)
                self._has_batch = True
            # The generator keeps no reference to the batch, because a buffer is reused only if nothing refers to the
            # batch.
            yield held.pop()
        # Remember the state after the last batch at any cost, because this happens once per run. The state after the
        # function's return is written later.
        if self._is_on_main_thread and self.may_replace_checkpoint:
            self._checkpoints.remember(position(), at_any_cost=True)

    def before_publish(self, position: Position) -> None:
        """Before a publish in the middle of a batch, note the position. No collector has the version yet."""
        self._checkpoints.note(position)

    def write_last(self) -> None:
        """Write the checkpoint of the last processed batch.

        Blocks until the checkpoint is on disk or the write has failed.
        """
        if self._position is None or not self.may_replace_checkpoint:
            return  # no batch was requested or delivered
        if self._is_processing and self._is_on_main_thread:
            self._checkpoints.write_remembered(self._position())
        else:
            # The training function has not processed later batches yet.
            self._checkpoints.write(self._processed_position, soon=True)
