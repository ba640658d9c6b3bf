"""The times at which a fleet's plan or status changes without an event. Pure."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from collectorfleet_api.conditions.weights import acknowledgement_late_from
from collectorfleet_operator.decide import queue, rolling
from collectorfleet_operator.decide.driver_lost import TAKES_LEASE_WITHIN
from collectorfleet_operator.decide.hung import until_replaced
from collectorfleet_operator.decide.kuberay import until_late
from collectorfleet_operator.decide.leftover_containers import until_leftovers_are_deleted
from collectorfleet_operator.decide.limits import expires, until_idle_after_evaluation, until_limit, until_stalled
from collectorfleet_operator.decide.lost_nodes import until_next_force_delete
from collectorfleet_operator.decide.situation import Situation
from collectorfleet_operator.decide.stopping import orders, until_overdue

# After this time, the cause of a refusal may be gone: a quota, a webhook, or a foreign object of the same name.
RETRY_REFUSED_AFTER: Final = timedelta(seconds=10)
# The operator has no watch and no list of Kueue's cluster-scoped objects, so the operator reads missing objects again
# after this time.
LOOK_FOR_MISSING_AFTER: Final = timedelta(seconds=30)


def until_next_deadline(seen: Situation) -> timedelta | None:
    """Return the time until the next deadline of a run under way, or None if only an event can change the plan."""
    waits = (
        retry_after(seen),
        LOOK_FOR_MISSING_AFTER if queue.has_missing_objects(seen) else None,
        _acknowledgement_late_after(seen),
        _driver_lost_after(seen),
        _unless_past(until_overdue(seen)),
        _unless_past(until_stalled(seen)),
        _unless_past(rolling.until_overdue(seen, orders(seen))),
        until_limit(seen),
        until_idle_after_evaluation(seen),
        until_next_force_delete(seen),
        _unless_past(until_leftovers_are_deleted(seen)),
        _unless_past(until_replaced(seen)),
        _unless_past(until_late(seen)),
    )
    return min((wait for wait in waits if wait is not None), default=None)


def until_next_deadline_after(seen: Situation) -> timedelta | None:
    """Return the time until the next deadline of a run that is over or suspended, or None if there is none."""
    end = expires(seen)
    waits = (
        retry_after(seen),
        # The operator keeps the RayCluster for a driver that is ending, until the driver counts as lost.
        _driver_lost_after(seen),
        _unless_past(end - seen.now) if end is not None else None,
        until_next_force_delete(seen),
        _unless_past(until_leftovers_are_deleted(seen)),
    )
    return min((wait for wait in waits if wait is not None), default=None)


def retry_after(seen: Situation) -> timedelta | None:
    return RETRY_REFUSED_AFTER if seen.refused else None


def _acknowledgement_late_after(seen: Situation) -> timedelta | None:
    weights = seen.report.weights if seen.report else None
    late_from = acknowledgement_late_from(weights) if weights else None
    return late_from - seen.now if late_from is not None and late_from > seen.now else None


def _unless_past(left: timedelta | None) -> timedelta | None:
    """Return the time left, or None if the deadline has passed: a past deadline triggers nothing."""
    return left if left is not None and left > timedelta(0) else None


def _driver_lost_after(seen: Situation) -> timedelta | None:
    """Return the time until a driver without its Lease counts as lost.

    None: the driver has its Lease, or is already lost.

    A driver that stops renewing its Lease needs no deadline, because the periodic lists of Leases show that it is lost.
    """
    waited = seen.driver_without_lease_for
    return None if waited is None or seen.driver_is_lost else TAKES_LEASE_WITHIN - waited
