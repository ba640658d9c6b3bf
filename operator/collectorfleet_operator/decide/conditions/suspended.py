"""The conditions of a suspended fleet, and the condition ``Suspended`` of other fleets. Pure.

A suspended fleet has no condition ``Ready``: tools that use kstatus would wait forever for ``Ready`` to become true.
"""

from __future__ import annotations

from typing import Final

from collectorfleet_api.conditions.condition import condition
from collectorfleet_api.conditions.outcome import Suspended
from collectorfleet_api.conditions.summary import completed, stalled
from collectorfleet_api.counts import counted
from collectorfleet_api.v1alpha1 import Condition, ConditionType, Reason
from collectorfleet_operator.decide.conditions.pod_messages import cluster_type
from collectorfleet_operator.decide.conditions.up_to_date import up_to_date_suspended
from collectorfleet_operator.decide.situation import Situation
from collectorfleet_operator.decide.stopping import Stop, why_suspended_idle

_TYPE: Final = ConditionType.SUSPENDED
_MOST_NAMES: Final = 3


def conditions_suspended(seen: Situation, run: Suspended) -> list[Condition]:
    left, idle = _left(seen), why_suspended_idle(seen)
    reason = Reason.IDLE_TIMEOUT if idle else Reason.SUSPENDING if left else Reason.SUSPENDED
    text = f"{left} being deleted" if left else _what_resuming_does(seen)
    if idle:
        text = f"{idle}: {text}; to resume, change the spec, or set spec.suspend to true and back"
    return [
        *([condition(ConditionType.READY, False, reason, text)] if left else []),
        condition(ConditionType.RECONCILING, bool(left), reason, text if left else "no change is in progress"),
        _stalled(seen, run),
        condition(cluster_type(seen), False, reason, f"a suspended fleet has no {seen.cluster_in_words}"),
        condition(ConditionType.DRIVER_RUNNING, False, reason, "a suspended fleet has no driver"),
        condition(ConditionType.COLLECTORS_AVAILABLE, False, reason, "a suspended fleet has no collectors"),
        condition(ConditionType.WEIGHTS_FRESH, None, reason, "a suspended fleet has no collectors"),
        completed(run),
        up_to_date_suspended(seen, reason),
        condition(_TYPE, not left, reason, text),
    ]


def not_suspended() -> Condition:
    """Return the condition ``Suspended`` of a fleet without a request to suspend."""
    return condition(_TYPE, False, Reason.NOT_SUSPENDED, "spec.suspend is false")


def suspending(seen: Situation, stop: Stop) -> Condition:
    """Return the condition ``Suspended`` of a fleet whose driver has not ended yet."""
    pod = seen.driver_pod
    driver = f"driver pod {pod.name}" if pod is not None else "the driver"
    text = f"{stop.why}: {driver} ends after its current batch"
    return condition(_TYPE, False, stop.reason, text)


def _left(seen: Situation) -> str:
    """Return the pods or objects that are still being deleted, in words, or an empty text if none is left."""
    found = [*seen.driver_pods, *seen.cluster_pods]
    if found:
        named = ", ".join(pod.name for pod in found[:_MOST_NAMES])
        more = f" and {len(found) - _MOST_NAMES} more" if len(found) > _MOST_NAMES else ""
        return f"1 pod ({named}) is" if len(found) == 1 else f"{len(found)} pods ({named}{more}) are"
    children = [child for child in (seen.job, *seen.clusters) if child is not None and seen.is_ours(child)]
    verb = "is" if len(children) == 1 else "are"
    return " and ".join(f"{child.kind} {child.name}" for child in children) + f" {verb}" if children else ""


def _what_resuming_does(seen: Situation) -> str:
    status, spec = seen.fleet.status, seen.fleet.spec
    gone = "the fleet has no pods"
    if status is None or status.progress is None or not seen.has_progress:
        return f"{gone}; the fleet has delivered no batch yet"
    frames = status.progress.frames_delivered
    if spec.driver.checkpoint is not None and status.checkpoint is not None:
        kept = f"{status.checkpoint.frames} of {counted(frames, 'frame')}"
        return f"{gone}; after a resume, the fleet continues from its checkpoint at {kept}"
    if spec.driver.checkpoint is None and spec.driver.train is None:
        return f"{gone}; after a resume, the fleet continues after the {counted(frames, 'frame')} of its output"
    why = "no checkpoint was written" if spec.driver.checkpoint else "spec.driver.checkpoint is not set"
    return (
        f"{gone}; after a resume, the fleet starts over and {counted(frames, 'frame is', 'frames are')} lost, "
        f"because {why}"
    )


def _stalled(seen: Situation, run: Suspended) -> Condition:
    if seen.problems:
        return condition(ConditionType.STALLED, True, Reason.INVALID_SPEC, "; ".join(seen.problems))
    return stalled(run)
