"""Moments at which something is decided differently although nothing happened. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from collectorfleet_api.conditions.weights import acknowledgement_late_from
from collectorfleet_operator.decide.observed import Observed

# A driver renews its Lease several times in this time, whatever its training function does.
LOST_AFTER: Final = timedelta(seconds=40)
# What the API server refused may be allowed by then: a quota, a webhook, a foreign object that was in the way.
RETRY_REFUSED_AFTER: Final = timedelta(seconds=10)


def is_lost(quiet_for: timedelta | None) -> bool:
    """Whether a driver whose Lease has not changed for that long counts as lost; None: it never held it."""
    return quiet_for is not None and quiet_for >= LOST_AFTER


def until_next_deadline(seen: Observed, now: datetime) -> timedelta | None:
    """How long until the next of these moments in a run under way; None where only an event changes anything."""
    waits = (retry_after(seen), _acknowledgement_late_after(seen, now), _lost_after(seen))
    return min((wait for wait in waits if wait is not None), default=None)


def retry_after(seen: Observed) -> timedelta | None:
    return RETRY_REFUSED_AFTER if seen.refused else None


def _acknowledgement_late_after(seen: Observed, now: datetime) -> timedelta | None:
    weights = seen.report.weights if seen.report else None
    late_from = acknowledgement_late_from(weights) if weights else None
    return late_from - now if late_from is not None and late_from > now else None


def _lost_after(seen: Observed) -> timedelta | None:
    quiet_for = seen.driver_quiet_for
    return None if quiet_for is None or is_lost(quiet_for) else LOST_AFTER - quiet_for
