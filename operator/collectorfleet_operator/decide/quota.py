"""Actions on a fleet's Workload: create, change or delete it, or give its quota back. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from collectorfleet_operator.children.table import WORKLOAD_CHILD
from collectorfleet_operator.children.workload import WORKLOAD
from collectorfleet_operator.decide import queue
from collectorfleet_operator.decide.actions import Action, Create, SetStatus
from collectorfleet_operator.decide.situation import Situation
from collectorfleet_operator.decide.upkeep import delete, describe, update_if_different, with_propagated
from collectorfleet_operator.objects import name_of


def request_quota(seen: Situation) -> Iterator[Action]:
    """Create or correct the Workload that requests quota for the fleet."""
    wanted, child, found = queue.requested_workload(seen), WORKLOAD_CHILD, seen.usable_workload
    if wanted is None:
        return
    if seen.workload is None:
        yield Create(
            WORKLOAD, with_propagated(seen, wanted), describe(WORKLOAD, name_of(wanted), child.summary(wanted))
        )
        return
    if found is None:
        return
    stored = seen.children[child]
    if not found.is_active:
        # Kueue ignores a deactivated Workload, even if it changes.
        if child.difference(stored, with_propagated(seen, wanted)):
            yield delete(WORKLOAD, found.name, found.uid, "it was deactivated, and the fleet has changed since")
    elif found.is_reserved:
        # If a Workload has reserved quota, Kueue refuses changes of the Workload's pods.
        if not found.is_quota_for(wanted):
            yield delete(WORKLOAD, found.name, found.uid, "it requests quota for other pods than the fleet needs")
    else:
        yield from update_if_different(child, stored, with_propagated(seen, wanted))


def give_quota_back(seen: Situation, why: str) -> Iterator[Action]:
    """Give back quota that no pod uses any more.

    An evicted Workload is queued again, and any other Workload is replaced.
    """
    found = seen.usable_workload
    if found is None:
        return
    stored = seen.children[WORKLOAD_CHILD]
    if found.is_evicted:
        what = describe(WORKLOAD, found.name, "gives its quota back")
        yield SetStatus(WORKLOAD, stored, queue.status_given_back(stored, seen.now), what)
    else:
        yield delete(WORKLOAD, found.name, found.uid, why)


def leave_queue(seen: Situation, why: str) -> Iterator[Action]:
    """Delete the Workload once no cluster and no pod of the fleet uses its quota."""
    found = seen.usable_workload
    if found is not None and not queue.in_use(seen):
        yield delete(WORKLOAD, found.name, found.uid, why)
