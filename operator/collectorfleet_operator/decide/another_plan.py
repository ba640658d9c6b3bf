"""The status fields that the operator writes in one plan and reads in its next plan. Pure.

The operator's own writes trigger no reconcile. So the operator plans again after a change of one of these fields.
"""

from __future__ import annotations

from typing import Final

from collectorfleet_api.v1alpha1 import ConditionType, Reason
from collectorfleet_operator.objects import Object, has_condition

# The operator deletes the driver's Job once the status has one of these reasons for the present spec generation.
_ENDS: Final = {
    ConditionType.COMPLETED: Reason.DEADLINE_EXCEEDED,
    ConditionType.SUSPENDED: Reason.IDLE_TIMEOUT,
}


def needs_another_plan(before: Object, after: Object) -> bool:
    """Return whether the stored status ``after`` may lead to another plan than the status ``before``."""
    return _decides_the_plan(before) != _decides_the_plan(after)


def _decides_the_plan(status: Object) -> tuple[object, ...]:
    ends = {
        one["type"]: one.get("observedGeneration")
        for one in status.get("conditions") or []
        if _ENDS.get(one["type"]) == one["reason"]
    }
    # After the run has completed, the operator deletes the Job if another container keeps the pod running.
    is_completed = has_condition({"status": status}, ConditionType.COMPLETED)
    return status.get("orders"), (status.get("driver") or {}).get("expires"), ends, is_completed
