"""The condition ``Admitted``: whether Kueue has admitted the fleet.

Only a fleet with a queue has this condition. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, assert_never

from collectorfleet_api.conditions.condition import condition
from collectorfleet_api.v1alpha1 import ConditionType, Reason
from collectorfleet_operator.children.workload import (
    WORKLOAD,
    counts_of,
    priority_class_of,
    workload,
)
from collectorfleet_operator.decide.conditions.finding import Finding, not_written, user_problem_finding, waiting
from collectorfleet_operator.decide.queue import (
    Admitted,
    Unqueued,
    Waiting,
    Withdrawn,
    evaluator_pods,
    queue_of_run,
    state,
    worker_pods,
)
from collectorfleet_operator.decide.situation import Situation

_TYPE: Final = ConditionType.ADMITTED
_BACK_IN_LINE: Final = "set spec.suspend to true and back"


def admitted(seen: Situation) -> Finding | None:
    """Return the condition ``Admitted``, or None for a fleet without a queue."""
    match state(seen):
        case Unqueued(""):
            return None
        case Unqueued(label):
            text = (
                f"the fleet was started without a queue, so LocalQueue {label} does not count the fleet; "
                f"{_BACK_IN_LINE}"
            )
            return waiting(_TYPE, Reason.NOT_QUEUED, text)
        case Waiting(why):
            return _waiting(seen, why)
        case Withdrawn(why):
            return waiting(_TYPE, Reason.QUOTA_TAKEN_BACK, why)
        case Admitted() as found:
            return _true(seen, found)
        case found:
            assert_never(found)


def _waiting(seen: Situation, why: str) -> Finding:
    if seen.why_no_queues:
        return user_problem_finding(_TYPE, Reason.KUEUE_MISSING, why)
    refused = next((one for one in seen.refused if one.kind == WORKLOAD), None)
    if refused is not None:
        return not_written(_TYPE, refused)
    if priority_class_of(seen.fleet) and seen.priority_class is None:
        return user_problem_finding(_TYPE, Reason.PRIORITY_CLASS_MISSING, why)
    text = f"LocalQueue {queue_of_run(seen)}: {why}"
    if seen.usable_workload is not None and not seen.usable_workload.is_active:
        how = f"correct the spec, or {_BACK_IN_LINE}"
        return user_problem_finding(_TYPE, Reason.WORKLOAD_DEACTIVATED, f"{text}; to request quota again, {how}")
    return waiting(_TYPE, Reason.WAITING_FOR_QUOTA, text)


def _true(seen: Situation, found: Admitted) -> Finding:
    by = f"admitted by ClusterQueue {found.cluster_queue}"
    wanted = counts_of(workload(seen.present, seen.kueue))
    text = f"{by} with {_pods_in_words(found.counts)}"
    if any(count > found.counts.get(name, 0) for name, count in wanted.items()):
        text = (
            f"{text}, but the fleet needs {_pods_in_words(wanted)}; Kueue admits only whole fleets, so no more pods "
            f"start; to request quota for all pods, {_BACK_IN_LINE}"
        )
        return Finding(condition(_TYPE, True, Reason.ADMITTED_FOR_FEWER, text))
    if seen.workload is not None and not seen.workload.is_quota_for(workload(seen.present, seen.kueue)):
        text = (
            f"{text}; the fleet's pod templates have changed since then; to have Kueue count the changed pods, "
            f"{_BACK_IN_LINE}"
        )
    return Finding(condition(_TYPE, True, Reason.ADMITTED, text))


def _pods_in_words(counts: Mapping[str, int]) -> str:
    """Return, in words, the pods that have quota, without driver and head: ``4 worker pods and 1 evaluator pod``."""
    workers, evaluators = worker_pods(counts), evaluator_pods(counts)
    text = f"{workers} worker pod{'s' * (workers != 1)}"
    return f"{text} and {evaluators} evaluator pod{'s' * (evaluators != 1)}" if evaluators else text
