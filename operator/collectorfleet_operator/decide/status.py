"""The operator's part of a fleet's status. Pure: an observation, the previous status and the clock in, a status out.

Conditions and their reasons:

* ``RayClusterReady``: Ready; KubeRayMissing, NameTaken, Refused, WaitingForDeletion, HeadPending, HeadStarting,
  HeadUnschedulable, WorkersStarting, CollectorUnschedulable, or Kubernetes' word for what is wrong with a pod
  (ImagePullBackOff, OOMKilled, CrashLoopBackOff, ...); Completed, Failed.
* ``DriverRunning``: Running; NameTaken, Refused, WaitingForDeletion, Pending, Starting, Restarting,
  DriverLost, DriverUnschedulable, or a pod's problem as above; Completed, Failed.
* ``CollectorsAvailable``, ``WeightsFresh``: see ``collectorfleet_api.conditions``; DriverNotRunning; Completed, Failed.
* ``Completed``: Completed; Running, Failed.
* ``Ready``, ``Reconciling``, ``Stalled``: what the others add up to, for tools that know nothing of fleets.
"""

from __future__ import annotations

from datetime import datetime

from collectorfleet_api import names
from collectorfleet_api.conditions.collectors import collectors_available
from collectorfleet_api.conditions.condition import condition, is_true, stamped
from collectorfleet_api.conditions.outcome import Failed, Outcome, Running, Succeeded
from collectorfleet_api.conditions.summary import completed, ready, stalled
from collectorfleet_api.conditions.weights import weights_fresh
from collectorfleet_api.packing.pods import Packing
from collectorfleet_api.v1alpha1 import (
    CollectorFleetStatus,
    Condition,
    ConditionType,
    DriverPodStatus,
    OperatorStatus,
    Phase,
    RayClusterStatus,
    Reason,
    WorkerPods,
)
from collectorfleet_operator.children.common import GENERATION_ANNOTATION
from collectorfleet_operator.children.raycluster import worker_group
from collectorfleet_operator.decide import pods
from collectorfleet_operator.decide.conditions.driver import driver_running
from collectorfleet_operator.decide.conditions.finding import Finding
from collectorfleet_operator.decide.conditions.raycluster import raycluster_ready
from collectorfleet_operator.decide.observed import Observed
from collectorfleet_operator.decide.outcome import outcome
from collectorfleet_operator.objects import annotation, is_terminating, name_of


def status(seen: Observed, now: datetime) -> OperatorStatus:
    over = outcome(seen)
    ray, driver = raycluster_ready(seen, over), driver_running(seen, over)
    collectors, weights = _collectors(seen, over, driver), _weights(seen, over, driver, now)
    ready = _ready(seen, over, ray, driver, collectors)
    stalled = _stalled(seen, over, ray, driver)
    found = [
        ready,
        _reconciling(seen, over, ready, stalled, collectors),
        stalled,
        ray.condition,
        driver.condition,
        collectors,
        weights,
        completed(over),
    ]
    before = seen.fleet.status
    generation = seen.fleet.metadata.generation
    return OperatorStatus(
        observed_generation=generation,
        phase=_phase(seen, over, ready, stalled),
        conditions=stamped(found, before.conditions if before else (), now, generation),
        replicas=_available(seen) if is_true(driver.condition) else 0,
        selector=f"{names.FLEET_LABEL}={seen.fleet.metadata.name},{names.ROLE_LABEL}={pods.WORKER}",
        ray_cluster=_ray_cluster(seen),
        driver=_driver(seen, before),
    )


def invalid(problems: list[str], before: CollectorFleetStatus | None, generation: int, now: datetime) -> OperatorStatus:
    """The status of a fleet that cannot even be read; the API server lets none through that fits the installed CRD."""
    message = "; ".join(problems)
    found = [
        condition(ConditionType.READY, False, Reason.INVALID_SPEC, message),
        condition(ConditionType.RECONCILING, False, Reason.INVALID_SPEC, message),
        condition(ConditionType.STALLED, True, Reason.INVALID_SPEC, message),
    ]
    conditions = stamped(found, before.conditions if before else (), now, generation)
    return OperatorStatus(observed_generation=generation, phase=Phase.FAILED, conditions=conditions)


def _collectors(seen: Observed, over: Outcome, driver: Finding) -> Condition:
    if not isinstance(over, Running):
        return _over(ConditionType.COLLECTORS_AVAILABLE, over)
    if seen.report is not None and not is_true(driver.condition):
        return condition(ConditionType.COLLECTORS_AVAILABLE, False, Reason.DRIVER_NOT_RUNNING, driver.condition.message)
    return collectors_available(seen.fleet.spec, seen.report)


def _weights(seen: Observed, over: Outcome, driver: Finding, now: datetime) -> Condition:
    if not isinstance(over, Running):
        return _over(ConditionType.WEIGHTS_FRESH, over)
    if seen.report is not None and not is_true(driver.condition):
        return condition(ConditionType.WEIGHTS_FRESH, None, Reason.DRIVER_NOT_RUNNING, driver.condition.message)
    return weights_fresh(seen.fleet.spec, seen.report, now)


def _over(type_: ConditionType, over: Outcome) -> Condition:
    word = "Completed" if isinstance(over, Succeeded) else "Failed"
    return condition(type_, False, word, f"the fleet {word.lower()}; its collectors are gone")


def _ready(seen: Observed, over: Outcome, ray: Finding, driver: Finding, collectors: Condition) -> Condition:
    if seen.problems and isinstance(over, Running):
        return condition(ConditionType.READY, False, Reason.INVALID_SPEC, "; ".join(seen.problems))
    required = [driver, Finding(collectors)]
    if not is_true(collectors):
        # A lost worker pod alone does not make a fleet unready, but it explains one that is.
        required.insert(0, ray)
    # A problem explains more than waiting: a driver that cannot pull its image before a head that starts.
    required.sort(key=lambda one: not one.problem)
    found = ready(over, [one.condition for one in required])
    return found.model_copy(update={"message": collectors.message}) if found.reason == Reason.COLLECTING else found


def _stalled(seen: Observed, over: Outcome, *children: Finding) -> Condition:
    if isinstance(over, Running):
        if seen.problems:
            return condition(ConditionType.STALLED, True, Reason.INVALID_SPEC, "; ".join(seen.problems))
        stuck = next((one.condition for one in children if one.needs_the_user), None)
        if stuck is not None:
            return condition(ConditionType.STALLED, True, stuck.reason, stuck.message)
    return stalled(over)


def _reconciling(
    seen: Observed, over: Outcome, ready: Condition, stalled: Condition, collectors: Condition
) -> Condition:
    if not isinstance(over, Running) or is_true(stalled):
        return condition(ConditionType.RECONCILING, False, ready.reason, "nothing is on its way")
    if not is_true(ready):
        return condition(ConditionType.RECONCILING, True, ready.reason, ready.message)
    if seen.spec_is_held and seen.job is not None:
        old, new = annotation(seen.job, GENERATION_ANNOTATION), seen.fleet.metadata.generation
        text = (
            f"the driver runs generation {old} of the spec and takes up only collectors.replicas; "
            f"delete Job {name_of(seen.job)} to start over with generation {new}"
        )
        return condition(ConditionType.RECONCILING, True, Reason.RESTART_NEEDED, text)
    if collectors.reason != Reason.ALL_AVAILABLE:
        return condition(ConditionType.RECONCILING, True, collectors.reason, collectors.message)
    return condition(ConditionType.RECONCILING, False, Reason.ALL_AVAILABLE, "the fleet is as its spec asks")


def _phase(seen: Observed, over: Outcome, ready: Condition, stalled: Condition) -> Phase:
    match over:
        case Succeeded():
            return Phase.COMPLETED
        case Failed():
            return Phase.FAILED
        case Running():
            pass
    if is_true(ready):
        return Phase.COLLECTING
    if is_true(stalled) and not seen.pods:
        return Phase.FAILED
    progress = seen.report.progress if seen.report else None
    if progress is not None and progress.batches:
        return Phase.DEGRADED
    return Phase.STARTING if seen.pods else Phase.PENDING


def _available(seen: Observed) -> int:
    counts = seen.report.progress.collectors if seen.report and seen.report.progress else None
    return counts.available if counts else 0


def _ray_cluster(seen: Observed) -> RayClusterStatus | None:
    if seen.cluster is None or not seen.is_ours(seen.cluster):
        return None
    head = pods.newest(seen.belonging(pods.of_role(seen.pods, pods.HEAD), seen.cluster))
    workers = [
        pod for pod in seen.belonging(pods.of_role(seen.pods, pods.WORKER), seen.cluster) if not is_terminating(pod)
    ]
    packing = seen.packing
    known = packing if isinstance(packing, Packing) and packing.gpu_units and not seen.spec_is_held else None
    return RayClusterStatus(
        name=name_of(seen.cluster),
        head=name_of(head) if head else None,
        worker_pods=WorkerPods(
            desired=int(worker_group(seen.cluster).get("replicas", 0)), ready=sum(map(pods.is_ready, workers))
        ),
        gpu_per_collector=known.gpu_per_collector if known else None,
        surplus_gpu=known.surplus_gpu if known else None,
    )


def _driver(seen: Observed, before: CollectorFleetStatus | None) -> DriverPodStatus | None:
    if seen.job is None or not seen.is_ours(seen.job):
        # A finished run stays on record when its Job is tidied up.
        return before.driver if before and isinstance(outcome(seen), Succeeded) else None
    job = seen.job.get("status") or {}
    pod = seen.driver_pod
    ended = [one["lastTransitionTime"] for one in job.get("conditions", []) if one["type"] in ("Complete", "Failed")]
    return DriverPodStatus.from_wire(
        {
            "pod": name_of(pod) if pod else None,
            "restarts": int(job.get("failed", 0)),
            "startTime": job.get("startTime"),
            "completionTime": job.get("completionTime") or next(iter(ended), None),
        }
    )
