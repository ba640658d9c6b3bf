"""Decide how a run ends: the time for its last batch, its last checkpoint and its exit code. Pure.

:data:`ENDINGS` is the table of decisions, which the driver's main thread applies. :mod:`.stop` gives the batch its
time, :mod:`.session` writes the last checkpoint, and :mod:`.supervision` returns the exit code.
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

# Seconds that are reserved at the end of the grace period, to end collectors and Ray and to send the last report. At
# most a third of the period is reserved.
END_SECONDS: Final = 10.0
# The default grace period of Kubernetes, in seconds.
_KILLED_AFTER: Final = 30.0
# The last checkpoint may take this many times as long as an earlier checkpoint.
_SLOWER_CHECKPOINT: Final = 2.0
# The seconds for a batch in a process without a grace period. They are enough for a training step, and a short wait for
# a person.
_SECONDS_OF_A_PERSON: Final = 5.0


class Batch(StrEnum):
    """Whether the training function finishes its current batch."""

    FINISHED = "finished"
    IN_TIME = "finished if in time"
    LOST = "lost"


class LastCheckpoint(Enum):
    """The checkpoint that is written at the end of a run."""

    OF_THE_END = "complete"
    OF_THE_LAST_BATCH = "last batch"
    NONE = "none"


class EndReason(Enum):
    """The reason for the end of a run."""

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
    """The row of the table for one :class:`EndReason`.

    ``returned`` is the last checkpoint if the training function returns. ``cut_short`` is the last checkpoint if the
    training function does not return. None: this case cannot happen.
    """

    batch: Batch
    returned: LastCheckpoint | None
    cut_short: LastCheckpoint | None
    exit_code: int


_END, _LAST, _NONE = LastCheckpoint.OF_THE_END, LastCheckpoint.OF_THE_LAST_BATCH, LastCheckpoint.NONE

ENDINGS: Final[Mapping[EndReason, Ending]] = {
    EndReason.RETURNED: Ending(Batch.FINISHED, _END, None, 0),
    EndReason.RAISED: Ending(Batch.LOST, None, _NONE, EXIT_USER_ERROR),
    EndReason.ORDERED: Ending(Batch.FINISHED, _END, _LAST, EXIT_STOPPED),
    EndReason.SIGTERM: Ending(Batch.IN_TIME, _END, _LAST, EXIT_SIGTERM),
    EndReason.INTERRUPTED: Ending(Batch.IN_TIME, _END, _LAST, EXIT_INTERRUPTED),
    EndReason.FLEET_GONE: Ending(Batch.IN_TIME, _END, _LAST, EXIT_INFRASTRUCTURE),
    EndReason.ACCESS_REFUSED: Ending(Batch.FINISHED, _END, _LAST, EXIT_INFRASTRUCTURE),
    # The next driver has already resumed from the newest checkpoint.
    EndReason.TAKEN_OVER: Ending(Batch.IN_TIME, _NONE, _NONE, EXIT_INFRASTRUCTURE),
    EndReason.LOST: Ending(Batch.LOST, None, _LAST, EXIT_INFRASTRUCTURE),
}


def end_reason(error: BaseException | None, asked: EndReason | None) -> EndReason:
    """Return the reason for the end of a run. The run's work raised ``error``, or returned if ``error`` is None.

    ``asked`` is the reason in the request to end, or None if there was no request. If there was a request, ``asked`` is
    returned, even if the user's code raised.
    """
    if asked is not None:
        return asked
    match error:
        case None:
            return EndReason.RETURNED
        case UserCodeError() | InvalidOption():
            return EndReason.RAISED
        case FolderTakenOver():
            return EndReason.TAKEN_OVER
        case CollectorFleetError():
            return EndReason.LOST
        case _:
            # Only a bug of this project leads here. A retry from the last checkpoint may help.
            return EndReason.LOST


def checkpoint_of(way: EndReason, *, returned: bool) -> LastCheckpoint:
    """Return the last checkpoint of a run that ended this way. ``returned``: whether the training function returned."""
    ending = ENDINGS[way]
    return (ending.returned if returned else ending.cut_short) or LastCheckpoint.NONE


def seconds_for_batch(way: EndReason, killed_after: float | None, checkpoint_seconds: float) -> float | None:
    """Return the seconds that the training function has after the request to end, or None if there is no limit.

    ``killed_after`` is the time in seconds from the request until the process is killed, or None if it is not killed.
    ``checkpoint_seconds`` is the expected duration of the last checkpoint, or 0 in a run without checkpoints.
    """
    if ENDINGS[way].batch is Batch.FINISHED:
        return None
    if killed_after is None:
        return _SECONDS_OF_A_PERSON
    end_seconds = min(END_SECONDS, killed_after / 3)
    if way is EndReason.TAKEN_OVER:
        killed_after = min(killed_after, _KILLED_AFTER)  # this driver writes no checkpoint any more
    return max(0.0, killed_after - end_seconds - _SLOWER_CHECKPOINT * checkpoint_seconds)
