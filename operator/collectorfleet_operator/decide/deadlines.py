"""Moments at which something is decided differently although nothing happened. Pure."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from collectorfleet_api.conditions.weights import acknowledgement_late_from
from collectorfleet_operator.decide import queue, rolling
from collectorfleet_operator.decide.driver_lost import TAKES_LEASE_WITHIN
from collectorfleet_operator.decide.hung import until_replaced
from collectorfleet_operator.decide.kuberay import until_late
from collectorfleet_operator.decide.leftover_containers import until_leftovers_are_deleted
from collectorfleet_operator.decide.limits import expires, until_limit, until_stalled
from collectorfleet_operator.decide.lost_nodes import until_given_up
from collectorfleet_operator.decide.situation import Situation
from collectorfleet_operator.decide.stopping import orders, until_overdue

# What the API server refused may be allowed by then: a quota, a webhook, a foreign object that was in the way.
RETRY_REFUSED_AFTER: Final = timedelta(seconds=10)
# Objects of Kueue's that belong to no namespace are neither watched nor listed.
LOOK_FOR_MISSING_AFTER: Final = timedelta(seconds=30)


def until_next_deadline(seen: Situation) -> timedelta | None:
    """How long until the next of these moments in a run under way; None where only an event changes anything."""
    waits = (
        retry_after(seen),
        LOOK_FOR_MISSING_AFTER if queue.has_missing_objects(seen) else None,
        _acknowledgement_late_after(seen),
        _driver_lost_after(seen),
        _still(until_overdue(seen)),
        _still(until_stalled(seen)),
        _still(rolling.until_overdue(seen, orders(seen))),
        until_limit(seen),
        until_given_up(seen),
        _still(until_leftovers_are_deleted(seen)),
        _still(until_replaced(seen)),
        _still(until_late(seen)),
    )
    return min((wait for wait in waits if wait is not None), default=None)


def until_next_deadline_after(seen: Situation) -> timedelta | None:
    """The same of a run that is over, or suspended."""
    end = expires(seen)
    waits = (
        retry_after(seen),
        _still(end - seen.now) if end is not None else None,
        until_given_up(seen),
        _still(until_leftovers_are_deleted(seen)),
    )
    return min((wait for wait in waits if wait is not None), default=None)


def retry_after(seen: Situation) -> timedelta | None:
    return RETRY_REFUSED_AFTER if seen.refused else None


def _acknowledgement_late_after(seen: Situation) -> timedelta | None:
    weights = seen.report.weights if seen.report else None
    late_from = acknowledgement_late_from(weights) if weights else None
    return late_from - seen.now if late_from is not None and late_from > seen.now else None


def _still(left: timedelta | None) -> timedelta | None:
    """What is over changes nothing any more."""
    return left if left is not None and left > timedelta(0) else None


def _driver_lost_after(seen: Situation) -> timedelta | None:
    """When a driver without its Lease is lost. Of one that does not renew it, the lists of Leases tell."""
    waited = seen.driver_without_lease_for
    return None if waited is None or seen.driver_is_lost else TAKES_LEASE_WITHIN - waited
