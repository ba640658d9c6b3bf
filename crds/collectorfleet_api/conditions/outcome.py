"""The outcome of a run: not started, running, suspended, completed or failed.

Code that depends on the outcome has a ``case`` for each type of outcome, and ends with ``assert_never``. The type
checker then finds every place that needs a change for a new type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from collectorfleet_api.v1alpha1.reasons import Phase, Reason


@dataclass(frozen=True)
class Pending:
    """The driver has not started yet."""


@dataclass(frozen=True)
class Running:
    """The driver has started and has not ended."""


@dataclass(frozen=True)
class Suspended:
    """The fleet is suspended on request. Its pods are deleted or will be deleted. The fleet resumes on request."""


@dataclass(frozen=True)
class Completed:
    """The training function returned, or the driver wrote the requested frames."""

    message: str
    reason: ClassVar[Reason] = Reason.COMPLETED
    phase: ClassVar[Phase] = Phase.COMPLETED
    verb: ClassVar[str] = "completed"  # for sentences about the fleet


@dataclass(frozen=True)
class Failed:
    """The user's code raised an exception, or a deadline passed. A retry would not help."""

    message: str  # one sentence with the original error text
    reason: Reason = Reason.FAILED
    phase: ClassVar[Phase] = Phase.FAILED
    verb: ClassVar[str] = "failed"


# Underway: pods of the run exist or will exist. Over: only records of the run are left.
Underway = Pending | Running
Over = Completed | Failed
Outcome = Underway | Suspended | Over
