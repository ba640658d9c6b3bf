"""The ``PodsReady`` condition that the operator writes into the Workload of an admitted fleet. Pure.

Kueue evicts a Workload without ``PodsReady`` after a timeout. The default timeout is 30 minutes since Kueue 0.19.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectorfleet_api.conditions.condition import is_true
from collectorfleet_api.conditions.outcome import Pending, Running
from collectorfleet_api.v1alpha1 import Condition, ConditionType, Reason
from collectorfleet_operator.children.table import WORKLOAD_CHILD
from collectorfleet_operator.children.workload import WORKLOAD
from collectorfleet_operator.decide import queue
from collectorfleet_operator.decide.actions import Action, SetStatus
from collectorfleet_operator.decide.conditions.underway import conditions_of
from collectorfleet_operator.decide.outcome import outcome
from collectorfleet_operator.decide.situation import Situation
from collectorfleet_operator.decide.upkeep import describe


def report_pods_ready(seen: Situation) -> Iterator[Action]:
    """Set ``PodsReady`` once. The condition stays true until the operator gives the quota back."""
    found = seen.usable_workload
    if found is None or found.says_pods_ready or not found.is_admitted:
        return
    why = _why_ready(seen)
    if why:
        stored = seen.children[WORKLOAD_CHILD]
        yield SetStatus(
            WORKLOAD, stored, queue.status_ready(stored, seen.now, why), describe(WORKLOAD, found.name, why)
        )


def _why_ready(seen: Situation) -> str:
    """Return why the pods count as ready, or an empty text if they are not ready yet."""
    if queue.is_everything_ready(seen):
        # The report comes before the fleet is Ready, because environments may need longer to start than Kueue waits.
        return "all pods of the fleet are ready"
    # If minAvailable is less than replicas, a fleet works although some of its pods never start.
    ready = _ready(seen)
    if ready is None:
        return ""
    if is_true(ready):
        return f"the fleet is Ready: {ready.message}"
    # A first batch may take longer than Kueue waits.
    return f"enough pods of the fleet are ready: {ready.message}" if ready.reason == Reason.FIRST_BATCH_PENDING else ""


def _ready(seen: Situation) -> Condition | None:
    run = outcome(seen)
    if not isinstance(run, Pending | Running):
        return None
    return next(one for one in conditions_of(seen, run) if one.type == ConditionType.READY)
