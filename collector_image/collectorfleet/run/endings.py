"""How a run ends: whether its batch is finished, which checkpoint it leaves, how much time it has, its exit code. Pure.

One table decides, and the driver's main thread carries it out. :mod:`.stop` gives the batch its time, :mod:`.session`
writes the last checkpoint, and :mod:`.supervision` returns the exit code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final

from collectorfleet.errors import CollectorFleetError, FolderTakenOver, InvalidOption, UserCodeError
from collectorfleet_api.names import (
    EXIT_INFRASTRUCTURE,
    EXIT_INTERRUPTED,
    EXIT_SIGTERM,
    EXIT_STOPPED,
    EXIT_USER_ERROR,
)

# Of the grace period: for collectors, Ray and the last report. At most a third of a short one.
END_SECONDS: Final = 10.0
# As if Kubernetes had its default.
_KILLED_AFTER: Final = 30.0
# The next checkpoint may be slower than those before it.
_SLOWER_CHECKPOINT: Final = 2.0
# Of a process that nobody kills: long enough for a training step, and short for a person who waits.
_SECONDS_OF_A_PERSON: Final = 5.0


class Batch(StrEnum):
    """What becomes of the batch that the training function works on."""

    FINISHED = "finished"
    IN_TIME = "finished if in time"
    LOST = "lost"


class LastCheckpoint(Enum):
    """Which one the end of a run writes."""

    OF_THE_END = "complete"
    OF_THE_LAST_BATCH = "last batch"
    NONE = "none"


class Way(Enum):
    """Why a run ends."""

    RETURNED = "the training function returns"
    RAISED = "the user's code raises, or an option is wrong"
    ORDERED = "the operator requests the end"
    SIGTERM = "SIGTERM"
    INTERRUPTED = "Ctrl-C"
    FLEET_GONE = "the fleet is deleted"
    ACCESS_REFUSED = "the API server refuses the driver's token"
    TAKEN_OVER = "another driver has taken over"
    LOST = "collectors, Ray or an actor are lost"


@dataclass(frozen=True)
class Ending:
    """``returned`` and ``cut_short``: the checkpoint where the training function returned, and where it did not; None
    where that is no such end.
    """

    batch: Batch
    returned: LastCheckpoint | None
    cut_short: LastCheckpoint | None
    exit_code: int


_END, _LAST, _NONE = LastCheckpoint.OF_THE_END, LastCheckpoint.OF_THE_LAST_BATCH, LastCheckpoint.NONE

ENDINGS: Final[Mapping[Way, Ending]] = {
    Way.RETURNED: Ending(Batch.FINISHED, _END, None, 0),
    Way.RAISED: Ending(Batch.LOST, None, _NONE, EXIT_USER_ERROR),
    Way.ORDERED: Ending(Batch.FINISHED, _END, _LAST, EXIT_STOPPED),
    Way.SIGTERM: Ending(Batch.IN_TIME, _END, _LAST, EXIT_SIGTERM),
    Way.INTERRUPTED: Ending(Batch.IN_TIME, _END, _LAST, EXIT_INTERRUPTED),
    Way.FLEET_GONE: Ending(Batch.IN_TIME, _END, _LAST, EXIT_INFRASTRUCTURE),
    Way.ACCESS_REFUSED: Ending(Batch.FINISHED, _END, _LAST, EXIT_INFRASTRUCTURE),
    # The next driver has gone on from the newest one.
    Way.TAKEN_OVER: Ending(Batch.IN_TIME, _NONE, _NONE, EXIT_INFRASTRUCTURE),
    Way.LOST: Ending(Batch.LOST, None, _LAST, EXIT_INFRASTRUCTURE),
}


def way_of(error: BaseException | None, asked: Way | None) -> Way:
    """How a run ended whose work returned, or raised ``error``, after it was ``asked`` to end.

    A run that was asked to end was ended, whatever the user's code made of it.
    """
    if asked is not None:
        return asked
    match error:
        case None:
            return Way.RETURNED
        case UserCodeError() | InvalidOption():
            return Way.RAISED
        case FolderTakenOver():
            return Way.TAKEN_OVER
        case CollectorFleetError():
            return Way.LOST
        case _:
            # What only our own code can let through: trying again may help, from what was learned so far.
            return Way.LOST


def checkpoint_of(way: Way, *, returned: bool) -> LastCheckpoint:
    """Which checkpoint a run writes that ended this way, after the training function ``returned`` or did not."""
    ending = ENDINGS[way]
    return (ending.returned if returned else ending.cut_short) or LastCheckpoint.NONE


def seconds_for_batch(way: Way, killed_after: float | None, checkpoint_seconds: float) -> float | None:
    """How long the training function may work on after the request to end; None for as long as it takes.

    ``killed_after`` are the seconds from the request until the process is killed, or None if it is not killed.
    ``checkpoint_seconds`` is the duration of the last checkpoint, 0 for a run without any.
    """
    if ENDINGS[way].batch is Batch.FINISHED:
        return None
    if killed_after is None:
        return _SECONDS_OF_A_PERSON
    end_seconds = min(END_SECONDS, killed_after / 3)
    if way is Way.TAKEN_OVER:
        killed_after = min(killed_after, _KILLED_AFTER)  # nothing of what it still learns is kept
    return max(0.0, killed_after - end_seconds - _SLOWER_CHECKPOINT * checkpoint_seconds)
