"""The state of a fleet in a queue of Kueue, and the contents of its Workload. Pure.

The operator does for fleets what Kueue's own integrations do for other kinds. A fleet's Workload requests quota. Kueue
admits the Workload or takes the quota back. The operator then reports when no pod uses the quota any more. Until then
Kueue gives the quota to no other Workload, so a driver has time to finish its batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, assert_never

from collectorfleet_api.names import EVALUATOR_GROUP
from collectorfleet_operator.children.placement import Placement
from collectorfleet_operator.children.workload import (
    priority_class_of,
    queue_of,
    with_priority,
    workers_of,
    workload,
)
from collectorfleet_operator.decide.pods import count_ready, not_terminating
from collectorfleet_operator.decide.situation import Situation, cached_per_situation
from collectorfleet_operator.decide.workload import (
    ADMITTED,
    EVICTED,
    PODS_READY,
    RESERVED,
    Assignment,
    Workload,
    condition_of,
)
from collectorfleet_operator.objects import Object

# Kueue's own integrations requeue the Workload at once only for this reason.
_PREEMPTED: Final = "Preempted"


@dataclass(frozen=True)
class Unqueued:
    """The fleet runs without a queue. ``label``: the queue label that the fleet got during the run, if any."""

    label: str = ""


@dataclass(frozen=True)
class Waiting:
    """The fleet may not run yet, and has no driver."""

    why: str  # Kueue's message if there is one


@dataclass(frozen=True)
class Admitted:
    """The fleet may run with ``counts`` pods of each pod set, on nodes that fit their ``placements``."""

    cluster_queue: str
    counts: Mapping[str, int]
    placements: Mapping[str, Placement]


@dataclass(frozen=True)
class Withdrawn:
    """The fleet must end its run, because the run has no quota any more."""

    why: str  # a clause


State = Unqueued | Waiting | Admitted | Withdrawn


@cached_per_situation
def state(seen: Situation) -> State:
    """Return the queue state of the fleet.

    While a run has a driver, the run's queue does not change. A run that began without a queue stays without a queue.
    """
    queue = queue_of_run(seen)
    if not queue:
        return Unqueued(queue_of(seen.fleet))
    found, runs = seen.workload, seen.is_usable(seen.job)
    usable = seen.usable_workload
    if seen.why_no_queues:
        # If Kueue is not available, it cannot take quota back.
        return _admitted(seen, found) if runs and found is not None else Waiting(seen.why_no_queues)
    if usable is None:
        return Withdrawn("its Workload was deleted") if runs else Waiting(_why_no_workload(seen))
    if usable.is_evicted and usable.is_reserved:
        return Withdrawn(f"Kueue withdraws the fleet's quota ({usable.eviction_message})")
    if not usable.is_admitted:
        if runs:
            return Withdrawn("Kueue has withdrawn its quota")
        return Waiting(_why_pending(usable))
    if not runs and not usable.is_quota_for(workload(seen.present, seen.kueue)):
        return Withdrawn("its quota is for other pods than the fleet needs")
    missing = sorted(usable.flavors - seen.flavors.keys())
    if missing and not runs:
        return Waiting(f"ResourceFlavor {missing[0]} does not exist")
    return _admitted(seen, usable)


@cached_per_situation
def queue_of_run(seen: Situation) -> str:
    """Return the LocalQueue of the present run. Without a run, return the fleet's LocalQueue. Either may be empty."""
    return seen.job.queue if seen.is_usable(seen.job) else queue_of(seen.fleet)


def why_withdrawn(seen: Situation) -> str:
    """Return a clause on why the fleet has lost its quota.

    The clause is empty while the fleet has its quota or waits for quota.
    """
    found = state(seen)
    return found.why if isinstance(found, Withdrawn) else ""


def is_placed(seen: Situation) -> bool:
    """Return whether the placement of the run's pods is known.

    While the placement is unknown, the operator changes no child.
    """
    match state(seen):
        case Unqueued():
            return True
        case Admitted():
            return seen.workload is not None and seen.workload.flavors <= seen.flavors.keys()
        case Waiting() | Withdrawn():
            return False
        case found:
            assert_never(found)


def requested_workload(seen: Situation) -> Object | None:
    """Return the Workload that requests the fleet's quota, or None if its WorkloadPriorityClass does not exist."""
    made, name = workload(seen.present, seen.kueue), priority_class_of(seen.fleet)
    if not name:
        return made
    if seen.priority_class is None:
        return None
    return with_priority(made, name, int(seen.priority_class["value"]), seen.kueue)


def has_missing_objects(seen: Situation) -> bool:
    """Return whether the fleet waits for a WorkloadPriorityClass or ResourceFlavor that does not exist."""
    if not queue_of_run(seen) or seen.why_no_queues:
        return False
    found = seen.usable_workload
    if found is not None and found.flavors - seen.flavors.keys():
        return True
    if seen.problems or seen.is_usable(seen.job) or (found is not None and found.is_reserved):
        return False
    return bool(priority_class_of(seen.fleet)) and seen.priority_class is None


def in_use(seen: Situation) -> bool:
    """Return whether the fleet still has a cluster or pods that use the quota."""
    if any(seen.is_ours(cluster) for cluster in seen.clusters):
        return True
    return any(not pod.is_over for pod in seen.pods)


def worker_pods(counts: Mapping[str, int]) -> int:
    """Return the number of worker pods of all groups, without evaluator pods."""
    return sum(count for name, count in counts.items() if name.startswith("workers-")) - evaluator_pods(counts)


def evaluator_pods(counts: Mapping[str, int]) -> int:
    return counts.get(workers_of(EVALUATOR_GROUP), 0)


def is_everything_ready(seen: Situation) -> bool:
    """Return whether the driver runs and its head and all worker pods are ready.

    Evaluator pods do not count: Kueue must not evict a fleet for late evaluators, because the fleet collects without
    evaluators.
    """
    if seen.driver_phase != "Running" or not seen.is_usable(seen.cluster):
        return False
    wanted = int(seen.present.spec.has_ray) + sum(size.pods for size in seen.cluster.worker_sizes.values())
    return count_ready(not_terminating((*seen.heads, *seen.workers))) >= wanted


def status_ready(stored: Object, now: datetime, why: str) -> Object:
    """Return the status of a Workload with ``PodsReady``, so that Kueue stops waiting. ``why`` is a sentence."""
    return {"conditions": _with_conditions(stored, now, (PODS_READY, True, PODS_READY, why))}


def status_given_back(stored: Object, now: datetime) -> Object:
    """Return the status that Kueue's own integrations write for an evicted Workload after its pods have ended."""
    evicted = condition_of(stored, EVICTED)
    reason, text = str(evicted.get("reason") or EVICTED), str(evicted.get("message") or "")
    changes = [
        (RESERVED, False, "Pending", text),
        (ADMITTED, False, "NoReservation", "The workload has no reservation"),
        ("Requeued", reason == _PREEMPTED, reason, text),
        *(
            [(PODS_READY, False, "WaitForStart", "its pods no longer exist")]
            if condition_of(stored, PODS_READY)
            else []
        ),
    ]
    return {"admission": None, "conditions": _with_conditions(stored, now, *changes)}


def _why_no_workload(seen: Situation) -> str:
    name = priority_class_of(seen.fleet)
    if name and seen.priority_class is None:
        return f"WorkloadPriorityClass {name} does not exist"
    if in_use(seen):
        return "pods of an earlier run are being deleted"
    return "the Workload of the fleet has not been created yet"


def _why_pending(found: Workload) -> str:
    if found.is_reserved and found.checks_not_ready:
        return f"quota is reserved, and admission checks are not ready ({'; '.join(found.checks_not_ready)})"
    return found.reservation_message or f"Workload {found.name} waits in LocalQueue {found.queue}"


def _admitted(seen: Situation, found: Workload) -> Admitted:
    placements = {one.pod_set: _placement(found, one, seen.flavors) for one in found.assignments}
    return Admitted(found.cluster_queue, found.counts, placements)


def _placement(found: Workload, assignment: Assignment, flavors: Mapping[str, Object]) -> Placement:
    selector: dict[str, str] = {}
    tolerations: list[Object] = []
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    for flavor in assignment.flavors:
        spec = (flavors.get(flavor) or {}).get("spec") or {}
        selector |= spec.get("nodeLabels") or {}
        tolerations += spec.get("tolerations") or []
    for update in (one for one in found.updates if one.pod_set == assignment.pod_set):
        selector |= update.node_selector
        tolerations += update.tolerations
        labels |= update.labels
        annotations |= update.annotations
    return Placement(selector, tuple(tolerations), labels, annotations)


def _with_conditions(stored: Object, now: datetime, *changes: tuple[str, bool, str, str]) -> list[Object]:
    """Return all conditions of a Workload after ``changes``. A change has a type, a status, a reason and a message."""
    conditions: dict[str, Any] = {one["type"]: one for one in (stored.get("status") or {}).get("conditions") or []}
    time = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    for type_, is_true, reason, message in changes:
        word, before = str(is_true), conditions.get(type_, {})
        since = before["lastTransitionTime"] if before.get("status") == word else time
        conditions[type_] = {
            "type": type_,
            "status": word,
            "reason": reason,
            "message": message,
            "lastTransitionTime": since,
        }
    return list(conditions.values())
