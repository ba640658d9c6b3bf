"""What a run does where one batch ends and the next begins: look whether it is to stop, and take checkpoints.

It is the only good moment. The training function has worked the last batch off when it requests the next, so counters
and state belong together. This holds on the thread that iterates, if it is the main thread. With ``collector.start()``
another thread iterates while the training function works, and there is no such moment.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
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
        self._looks: list[Callable[[], None]] = []
        self._position: Callable[[], Position] | None = None
        self._worked_off = Position()
        self._is_on_main_thread = True
        # On the last batch, or on what it does after it: what is kept changes meanwhile.
        self._is_worked_on = False

    @property
    def stop_requested(self) -> bool:
        """Whether the run is asked to stop."""
        return self._stop.requested()

    def look_between(self, look: Callable[[], None]) -> None:
        """Call ``look`` before each batch is requested, after the previous batch was processed."""
        self._looks.append(look)

    def batches(self, batches: Iterator[T], position: Callable[[], Position]) -> Iterator[T]:
        """Yield from ``batches`` until they end or the run is asked to stop. ``position`` returns the progress."""
        if self._position is None:
            self._worked_off = position()  # where the run goes on from
        first, self._position = True, position
        self._is_on_main_thread = threading.current_thread() is threading.main_thread()
        while not self._stop.requested():
            for look in self._looks:
                look()
            if self._checkpoints.due:
                self._checkpoints.write_in_background(position())
            elif self._is_worked_on and self._is_on_main_thread:
                self._checkpoints.remember(position())
            self._worked_off, self._is_worked_on = position(), False
            held = list(islice(batches, 1))
            self._is_worked_on = True
            if not held:
                break
            self._checkpoints.note(position())
            if first:
                log_milestone(Milestone.FIRST_BATCH)
                first = False
            # Handed over, not kept: a buffer is used again only once nobody refers to it.
            yield held.pop()
        # Once: what the function makes of it is written when it returns.
        if self._is_on_main_thread:
            self._checkpoints.remember(position(), at_any_cost=True)

    def before_publish(self, position: Position) -> None:
        """Note a version that is published in the middle of a batch, before any collector gets it."""
        self._checkpoints.note(position)

    def write_last(self) -> None:
        """Write the checkpoint of the last processed batch.

        Blocks until the checkpoint is on disk or the write has failed.
        """
        if self._position is None:
            return  # no batch was asked for
        if self._is_worked_on and self._is_on_main_thread:
            self._checkpoints.write_remembered(self._position())
        else:
            # What was handed out meanwhile, nobody has worked on.
            self._checkpoints.write(self._worked_off, soon=True)
