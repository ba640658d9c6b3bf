"""The operator's part of a fleet's status. Pure: a function of one observation, which includes the previous status.

``collectorfleet_api.v1alpha1.reasons`` lists the conditions and their reasons. The package ``conditions`` beside this
file computes the conditions that only the operator can observe. ``collectorfleet_api.conditions`` computes the other
conditions from the driver's report.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final, assert_never

from collectorfleet_api import names
from collectorfleet_api.conditions.condition import is_true, stamped
from collectorfleet_api.conditions.outcome import Completed, Failed, Outcome, Pending, Running, Suspended, Underway
from collectorfleet_api.packing.pods import Packing
from collectorfleet_api.packing.refusal import Refusal
from collectorfleet_api.times import duration
from collectorfleet_api.v1alpha1 import (
    CodeStatus,
    CollectorFleetStatus,
    CollectorsJobStatus,
    Condition,
    ConditionType,
    DriverPodStatus,
    OperatorStatus,
    Phase,
    RayClusterStatus,
    Reason,
    WorkerGroupStatus,
    WorkerPods,
)
from collectorfleet_operator.children.pod_template import PodRole
from collectorfleet_operator.decide.conditions import over, suspended, underway
from collectorfleet_operator.decide.limits import expires, has_delivered_itself, recorded_condition
from collectorfleet_operator.decide.outcome import outcome
from collectorfleet_operator.decide.pod_owner import PodOwner
from collectorfleet_operator.decide.pods import count_ready, newest, not_terminating
from collectorfleet_operator.decide.retry import hash_of_run
from collectorfleet_operator.decide.silent_nodes import report_without_silent_nodes
from collectorfleet_operator.decide.situation import Situation
from collectorfleet_operator.decide.stopping import orders, restarts

# This value of the role label is valid, but no pod has it.
_NO_ROLE: Final = "collector"


def status(seen: Situation) -> OperatorStatus:
    found = outcome(seen)
    conditions = {one.type: one for one in _conditions(seen, found)}
    before = seen.fleet.status
    generation = seen.fleet.metadata.generation
    return OperatorStatus(
        observed_generation=generation,
        phase=_phase(seen, found, conditions),
        conditions=stamped(conditions.values(), before.conditions if before else (), seen.now, generation),
        replicas=_available(seen) if is_true(conditions[ConditionType.DRIVER_RUNNING]) else 0,
        selector=_selector(seen),
        ray_cluster=_ray_cluster(seen),
        collectors_job=_collectors_job(seen),
        driver=_driver(seen, found, before),
        code=_code(seen, found, before),
        orders=orders(seen),
    )


def _conditions(seen: Situation, found: Outcome) -> list[Condition]:
    match found:
        case Completed() | Failed():
            return over.conditions_after(seen, found)
        case Pending() | Running():
            return underway.conditions_of(seen, found)
        case Suspended():
            return suspended.conditions_suspended(seen, found)
        case _:
            assert_never(found)


def _phase(seen: Situation, found: Outcome, conditions: Mapping[str, Condition]) -> Phase:
    match found:
        case Completed() | Failed():
            return found.phase
        case Suspended():
            return Phase.SUSPENDED if is_true(conditions[ConditionType.SUSPENDED]) else Phase.SUSPENDING
        case Pending() | Running():
            return _phase_underway(seen, conditions)
        case _:
            assert_never(found)


def _phase_underway(seen: Situation, conditions: Mapping[str, Condition]) -> Phase:
    if conditions[ConditionType.SUSPENDED].reason != Reason.NOT_SUSPENDED:
        return Phase.SUSPENDING
    if is_true(conditions[ConditionType.READY]):
        return Phase.COLLECTING
    stalled = conditions[ConditionType.STALLED]
    # A fleet that is only late is not Failed, because the operator does not end it.
    if is_true(stalled) and stalled.reason != Reason.PROGRESS_DEADLINE_EXCEEDED and not seen.pods:
        return Phase.FAILED
    # A new driver reports the batches of earlier drivers, so their number says nothing about this driver.
    if seen.is_usable(seen.job) and has_delivered_itself(seen, seen.job):
        return Phase.DEGRADED
    return Phase.STARTING if seen.pods else Phase.PENDING


def _available(seen: Situation) -> int:
    report = report_without_silent_nodes(seen)
    counts = report.progress.collectors if report and report.progress else None
    return counts.available if counts else 0


def _selector(seen: Situation) -> str:
    """Return the label selector for autoscalers on pod metrics.

    If each worker pod has one collector, the selector matches the worker pods. Otherwise the selector matches no pod:
    the autoscaler would count pods and request as many collectors.
    """
    groups = seen.groups
    is_one_each = not isinstance(groups, Refusal) and all(group.per_pod == 1 for group in groups.values())
    role = PodRole.WORKER if is_one_each else _NO_ROLE
    return f"{names.FLEET_LABEL}={seen.fleet.metadata.name},{names.ROLE_LABEL}={role}"


def _ray_cluster(seen: Situation) -> RayClusterStatus | None:
    if seen.cluster is None or not seen.is_ours(seen.cluster) or not seen.present.spec.has_ray:
        return None
    head = newest(seen.heads)
    gpus = _gpus(seen)
    return RayClusterStatus(
        name=seen.cluster.name,
        head=head.name if head else None,
        worker_pods=_worker_pods(seen, seen.cluster),
        gpu_per_collector=_only({group.gpu_per_collector for group in gpus}),
        surplus_gpu=sum(group.surplus_gpu for group in gpus) if gpus else None,
        groups=_groups(seen, seen.cluster) if len(seen.cluster.sizes) > 1 else [],
    )


def _collectors_job(seen: Situation) -> CollectorsJobStatus | None:
    if seen.cluster is None or not seen.is_ours(seen.cluster) or seen.present.spec.has_ray:
        return None
    gpus = _gpus(seen)
    return CollectorsJobStatus(
        name=seen.cluster.name,
        worker_pods=_worker_pods(seen, seen.cluster),
        gpu_per_collector=_only({group.gpu_per_collector for group in gpus}),
        surplus_gpu=sum(group.surplus_gpu for group in gpus) if gpus else None,
    )


def _worker_pods(seen: Situation, cluster: PodOwner) -> WorkerPods:
    ready = count_ready(not_terminating(seen.workers))
    return WorkerPods(desired=sum(size.pods for size in cluster.worker_sizes.values()), ready=ready)


def _groups(seen: Situation, cluster: PodOwner) -> list[WorkerGroupStatus]:
    packed = {} if isinstance(seen.groups, Refusal) else seen.groups
    found = []
    for name, size in cluster.sizes.items():
        ready = count_ready(not_terminating(seen.of_group(name)))
        group = packed.get(name)
        gpus = group if group is not None and group.gpu_units else None
        found.append(
            WorkerGroupStatus(
                name=name,
                worker_pods=WorkerPods(desired=size.pods, ready=ready),
                gpu_per_collector=gpus.gpu_per_collector if gpus else None,
                surplus_gpu=gpus.surplus_gpu if gpus else None,
            )
        )
    return found


def _gpus(seen: Situation) -> list[Packing]:
    """Return the packing of the groups whose collectors use GPUs."""
    groups = seen.groups
    if isinstance(groups, Refusal):
        return []
    return [group for group in groups.values() if group.gpu_units]


def _only(values: set[float]) -> float | None:
    """Return the only value of the set, or None if the set has no value or several."""
    return next(iter(values)) if len(values) == 1 else None


def _code(seen: Situation, found: Outcome, before: CollectorFleetStatus | None) -> CodeStatus | None:
    """Return the digest of the code from a pod that unpacked the tree.

    The digest stays in the status after the pods are gone. During a run, the status has no digest of another tree, such
    as the tree before an edit of the spec.
    """
    code = seen.fleet.spec.code
    if code is None or code.tree is None:
        return None
    pods = [one for one in (seen.driver_pod, newest(seen.heads)) if one is not None]
    ended = [pod.exits.get(names.CODE_CONTAINER) for pod in pods]
    digests = [one.message.strip() for one in ended if one is not None and one.code == 0]
    if digests:
        return CodeStatus(digest=digests[0])
    kept, runs = before.code if before else None, seen.present.spec.code
    if kept is None or not isinstance(found, Underway):
        return kept
    return kept if runs is not None and runs.tree is not None and kept.digest == runs.tree.digest else None


def _driver(seen: Situation, found: Outcome, before: CollectorFleetStatus | None) -> DriverPodStatus | None:
    if seen.job is None or not seen.is_ours(seen.job):
        return _driver_on_record(seen, found, before)
    pod = seen.driver_pod
    return DriverPodStatus(
        pod=pod.name if pod else None,
        restarts=restarts(seen, seen.job),
        start_time=seen.job.started,
        completion_time=seen.job.ended,
        spec_hash=hash_of_run(seen, seen.job, found),
        expires=_expires(seen, found),
    )


def _driver_on_record(seen: Situation, found: Outcome, before: CollectorFleetStatus | None) -> DriverPodStatus | None:
    match found:
        case Completed() | Failed():
            # The driver's status stays after its Job is deleted.
            driver = before.driver if before else None
            return driver and driver.model_copy(update={"expires": _expires(seen, found)})
        case Pending() | Running() | Suspended():
            return None
        case _:
            assert_never(found)


def _expires(seen: Situation, found: Outcome) -> datetime | None:
    """Return when the objects of an ended run are deleted, or None if they stay or the run has not ended.

    After an exceeded deadline the operator deletes the Job, and the Job gets no end time. The time to live then counts
    from the first status with the failure. Later statuses repeat the recorded time.
    """
    ttl = seen.fleet.spec.ttl_seconds_after_finished
    if not isinstance(found, Failed) or found.reason is not Reason.DEADLINE_EXCEEDED:
        return expires(seen)
    # Until a status has the failure of the present Job, a recorded time is from an earlier run.
    is_recorded = recorded_condition(seen, ConditionType.COMPLETED, Reason.DEADLINE_EXCEEDED) is not None
    driver = seen.fleet.status.driver if seen.fleet.status and (is_recorded or not seen.is_usable(seen.job)) else None
    if driver is not None and driver.expires is not None:
        return driver.expires
    return seen.now + duration(ttl) if ttl is not None else None
