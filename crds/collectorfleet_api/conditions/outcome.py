"""How far a run has come: whether it goes on, and how it ended.

Whoever decides on an outcome matches all of its values and ends with ``assert_never``: the type checker then finds
every place that a further value concerns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from collectorfleet_api.v1alpha1.reasons import Phase, Reason


@dataclass(frozen=True)
class Pending:
    """There is no driver yet."""


@dataclass(frozen=True)
class Running:
    """There is a driver, and it has not ended."""


@dataclass(frozen=True)
class Suspended:
    """Its pods are gone or going, because somebody asked for that; it goes on when they ask for that."""


@dataclass(frozen=True)
class Completed:
    """Training returned, or the frames asked for were written out."""

    message: str
    reason: ClassVar[Reason] = Reason.COMPLETED
    phase: ClassVar[Phase] = Phase.COMPLETED
    verb: ClassVar[str] = "completed"  # what the fleet did


@dataclass(frozen=True)
class Failed:
    """The user's code raised, or a deadline is over; trying again would not help."""

    message: str  # one sentence, the first cause in its own words
    reason: Reason = Reason.FAILED
    phase: ClassVar[Phase] = Phase.FAILED
    verb: ClassVar[str] = "failed"


# Something of the run is there or will be; nothing of it is left but its records.
Underway = Pending | Running
Over = Completed | Failed
Outcome = Underway | Suspended | Over
