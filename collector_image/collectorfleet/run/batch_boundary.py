"""What a run does where one batch ends and the next begins: look whether it is to stop, and write checkpoints.

Nothing else is a good moment: the training function has worked the last batch off, or it would not ask for the next,
so that counters and state belong together. On the thread that iterates, which is the main one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TypeVar

from collectorfleet.errors import CollectorFleetError, UserCodeError
from collectorfleet.run.checkpoint.interface import Checkpoints
from collectorfleet.run.milestones import Milestone, log_milestone
from collectorfleet.run.position import Position
from collectorfleet.run.stop import StopRequest

T = TypeVar("T")


class BatchBoundary:
    """Of one run."""

    def __init__(self, stop: StopRequest, checkpoints: Checkpoints) -> None:
        self._stop = stop
        self._checkpoints = checkpoints
        self._looks: list[Callable[[], None]] = []

    def look_between(self, look: Callable[[], None]) -> None:
        """Call ``look`` before each batch is asked for, when the last one is worked off."""
        self._looks.append(look)

    def batches(self, batches: Iterator[T], position: Callable[[], Position]) -> Iterator[T]:
        """``batches``, until there are no more or the run is asked to stop; ``position`` says how far it is."""
        first = True
        while not self._stop.requested():
            for look in self._looks:
                look()
            if self._checkpoints.due:
                self._checkpoints.write_in_background(position())
            held = self._next(batches, position)
            if not held:
                return
            self._checkpoints.note(position())
            if first:
                log_milestone(Milestone.FIRST_BATCH)
                first = False
            # Handed over, not kept: a buffer is used again only once nobody refers to it.
            yield held.pop()
        self._checkpoints.write(position())

    def before_publish(self, position: Position) -> None:
        """Versions that are published in the middle of a batch are noted before anybody sees them."""
        self._checkpoints.note(position)

    def _next(self, batches: Iterator[T], position: Callable[[], Position]) -> list[T]:
        """The next batch, alone in a list; an empty list at the end."""
        try:
            return list(islice(batches, 1))
        except UserCodeError:
            raise
        except CollectorFleetError:
            # The fleet is lost, what was learned is not.
            self._checkpoints.write(position())
            raise
