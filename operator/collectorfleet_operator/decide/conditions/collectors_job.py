"""The condition ``CollectorsJobReady``: the counterpart of ``RayClusterReady`` for a fleet without Ray. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from collectorfleet_api.conditions.condition import condition, is_true
from collectorfleet_api.counts import counted
from collectorfleet_api.v1alpha1 import ConditionType, Reason
from collectorfleet_operator.decide.conditions.child_suspended import why_suspended
from collectorfleet_operator.decide.conditions.finding import Finding, not_written, problem_finding, waiting
from collectorfleet_operator.decide.conditions.pod_messages import describe_lost_pods, describe_terminating
from collectorfleet_operator.decide.pod import Pod
from collectorfleet_operator.decide.pod_owner import PodOwner
from collectorfleet_operator.decide.pod_problem import UNSCHEDULABLE, PodProblem
from collectorfleet_operator.decide.pods import common_problem, count_ready, newest, not_terminating
from collectorfleet_operator.decide.situation import Situation, Warned
from collectorfleet_operator.decide.warnings import newest_about_pods_of

_TYPE: Final = ConditionType.COLLECTORS_JOB_READY


def collectors_job_ready(seen: Situation) -> Finding:
    found, refused = _observed(seen), next((one for one in seen.refused if one.holds_collectors), None)
    # A refused write does not stop pods that are ready. The condition Stalled reports the refusal.
    if refused is not None and not is_true(found.condition):
        return not_written(_TYPE, refused)
    return found


def _observed(seen: Situation) -> Finding:
    earlier = _earlier(seen)
    if earlier:
        return waiting(_TYPE, Reason.WAITING_FOR_DELETION, earlier)
    if seen.cluster is None or seen.cluster.is_orphan:
        return waiting(_TYPE, Reason.PENDING, "the collectors' Job has not been created yet")
    suspended = why_suspended(seen.cluster)
    if suspended:
        return problem_finding(_TYPE, Reason.CHILD_SUSPENDED, suspended)
    return _pods(seen, seen.cluster)


def _earlier(seen: Situation) -> str:
    for cluster in seen.clusters:
        is_other = cluster is not seen.cluster
        if (is_other and seen.is_ours(cluster)) or (
            not is_other and not cluster.is_orphan and not seen.is_usable(cluster)
        ):
            return f"{cluster.kind} {cluster.name} of an earlier run is being deleted"
    left = seen.leftovers(seen.cluster_pods, None) if seen.cluster is None else []
    if left:
        are = "is" if len(left) == 1 else "are"
        names = ", ".join(pod.name for pod in left[:3])
        return f"{counted(len(left), 'pod')} of an earlier run {are} being deleted: {names}"
    return ""


def _pods(seen: Situation, job: PodOwner) -> Finding:
    wanted = sum(size.pods for size in job.sizes.values())
    found = not_terminating(_newest_of_each(seen.workers, wanted))
    ready = min(count_ready(found), wanted)
    if ready >= wanted:
        return Finding(condition(_TYPE, True, Reason.READY, f"{ready} of {wanted} worker pods are ready"))
    lost = describe_lost_pods(seen.workers)
    if lost:
        return problem_finding(_TYPE, Reason.NODE_LOST, lost)
    trouble = _problem(seen, job, found)
    if trouble is not None:
        return problem_finding(_TYPE, trouble.reason, trouble.message)
    text = f"{ready} of {wanted} worker pods are ready{describe_terminating(seen.workers)}"
    if len(found) < wanted:
        # Kubernetes waits longer after each loss of a pod with the same index.
        text += f"; Kubernetes has created {len(found)} of the worker pods, and replaces a lost pod after a delay"
    return waiting(_TYPE, Reason.WORKERS_STARTING, text)


def _newest_of_each(workers: Iterable[Pod], wanted: int) -> list[Pod]:
    """Return the newest pod of each index below ``wanted``. A Job also has the earlier, failed pods of an index."""
    by_index: defaultdict[str, list[Pod]] = defaultdict(list)
    for pod in workers:
        by_index[pod.index].append(pod)
    found = (newest(by_index[str(index)]) for index in range(wanted))
    return [pod for pod in found if pod is not None]


def _problem(seen: Situation, job: PodOwner, workers: list[Pod]) -> PodProblem | Warned | None:
    found = common_problem(workers, "worker pods")
    if found is not None:
        is_unschedulable = found.reason == UNSCHEDULABLE
        return PodProblem(Reason.COLLECTOR_UNSCHEDULABLE if is_unschedulable else found.reason, found.message)
    return newest_about_pods_of(seen, job, workers, _TYPE)
