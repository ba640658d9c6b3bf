"""What of its own status the operator acts on: it is said first, and only then carried out. Pure.

Nobody tells the operator of what it wrote itself, so where one of these is written, the fleet is looked at once more.
"""

from __future__ import annotations

from typing import Final

from collectorfleet_api.v1alpha1 import ConditionType, Reason
from collectorfleet_operator.objects import Object, has_condition

# With these the driver's Job is deleted, once they are recorded by the present generation of the spec.
_ENDS: Final = {
    ConditionType.COMPLETED: Reason.DEADLINE_EXCEEDED,
    ConditionType.SUSPENDED: Reason.IDLE_TIMEOUT,
}


def needs_another_plan(before: Object, after: Object) -> bool:
    """Whether another plan may follow from ``after``, as the status is stored now, than from the one ``before``."""
    return _decides_the_plan(before) != _decides_the_plan(after)


def _decides_the_plan(status: Object) -> tuple[object, ...]:
    ends = {
        one["type"]: one.get("observedGeneration")
        for one in status.get("conditions") or []
        if _ENDS.get(one["type"]) == one["reason"]
    }
    # Then its Job is deleted, if another container keeps the pod.
    is_completed = has_condition({"status": status}, ConditionType.COMPLETED)
    return status.get("orders"), (status.get("driver") or {}).get("expires"), ends, is_completed
