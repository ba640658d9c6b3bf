"""The condition ``RayClusterReady``, computed from the pods, because KubeRay's own conditions may be outdated. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from collectorfleet_api import names
from collectorfleet_api.conditions.condition import is_true
from collectorfleet_api.counts import counted
from collectorfleet_api.v1alpha1 import ConditionType, Reason
from collectorfleet_operator.children.group_sizes import GroupSize
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.decide.conditions.child_suspended import why_suspended
from collectorfleet_operator.decide.conditions.evaluators import with_evaluators
from collectorfleet_operator.decide.conditions.finding import (
    Finding,
    not_written,
    problem_finding,
    user_problem_finding,
    waiting,
)
from collectorfleet_operator.decide.conditions.pod_messages import describe_lost_pods, describe_terminating
from collectorfleet_operator.decide.kuberay import is_late
from collectorfleet_operator.decide.pod import Pod
from collectorfleet_operator.decide.pod_owner import PodOwner
from collectorfleet_operator.decide.pod_problem import UNSCHEDULABLE, PodProblem
from collectorfleet_operator.decide.pods import common_problem, count_ready, not_terminating
from collectorfleet_operator.decide.situation import Situation, Warned
from collectorfleet_operator.decide.warnings import newest_about_pods_of

_TYPE: Final = ConditionType.RAY_CLUSTER_READY
# The kubelet's message about a Secret without a token. KubeRay makes a Secret with a token, but also uses an existing
# Secret of that name.
_NO_TOKEN: Final = f"couldn't find key {names.TOKEN_SECRET_KEY} in Secret"
_INSTALL: Final = (
    f"this Kubernetes has no {RAYCLUSTER.full_name}; install the KubeRay operator, 1.5 or later: "
    "helm install kuberay-operator kuberay-operator --repo https://ray-project.github.io/kuberay-helm/ --version 1.6.2"
)


def raycluster_ready(seen: Situation) -> Finding:
    if not seen.kuberay_installed:
        return user_problem_finding(_TYPE, Reason.KUBERAY_MISSING, _INSTALL)
    found, refused = _observed(seen), next((one for one in seen.refused if one.holds_collectors), None)
    # A refused write does not stop pods that are ready. The condition Stalled reports the refusal.
    if refused is not None and found.is_needed and not is_true(found.condition):
        return not_written(_TYPE, refused)
    return found


def _observed(seen: Situation) -> Finding:
    earlier = _earlier(seen)
    if earlier:
        return waiting(_TYPE, Reason.WAITING_FOR_DELETION, earlier)
    if seen.cluster is None or seen.cluster.is_orphan:
        return waiting(_TYPE, Reason.PENDING, "the RayCluster has not been created yet")
    suspended = why_suspended(seen.cluster)
    if suspended:
        return problem_finding(_TYPE, Reason.CHILD_SUSPENDED, suspended)
    return _pods(seen, seen.cluster, "; check that the KubeRay operator runs" if is_late(seen) else "")


def _earlier(seen: Situation) -> str | None:
    cluster = seen.cluster
    other = next((one for one in seen.clusters if one is not cluster), None)
    if other is not None and seen.is_ours(other):
        return f"{other.kind} {other.name} of an earlier run is being deleted"
    if cluster is not None and not cluster.is_orphan and not seen.is_usable(cluster):
        return f"RayCluster {cluster.name} of an earlier run is being deleted"
    left = seen.leftovers(seen.cluster_pods, cluster)
    if cluster is None and left:
        are = "is" if len(left) == 1 else "are"
        names = ", ".join(pod.name for pod in left[:3])
        return f"{counted(len(left), 'pod')} of an earlier RayCluster {are} being deleted: {names}"
    return None


def _pods(seen: Situation, cluster: PodOwner, late: str) -> Finding:
    """Return the condition of a RayCluster from its pods. Append ``late`` if KubeRay has not made all pods."""
    heads, workers = not_terminating(seen.heads), not_terminating(seen.workers)
    sizes = cluster.worker_sizes
    wanted = sum(size.pods for size in sizes.values())
    ready_pods = {group: _ready_pods(seen, group, size) for group, size in sizes.items()}
    ready = sum(ready_pods.values())
    head_ready = any(pod.is_ready for pod in heads)
    if head_ready and ready >= wanted:
        return with_evaluators(seen, cluster, f"{ready} of {wanted} worker pods", late)
    lost = describe_lost_pods([*seen.heads, *seen.workers])
    if lost:
        return problem_finding(_TYPE, Reason.NODE_LOST, lost)
    found = _problem(seen, cluster, heads, workers, list(sizes))
    if found is not None and _NO_TOKEN in found.message:
        return user_problem_finding(_TYPE, Reason.NAME_TAKEN, _secret_taken(cluster))
    if found is not None:
        return problem_finding(_TYPE, found.reason, found.message)
    if not heads:
        return waiting(_TYPE, Reason.HEAD_PENDING, f"KubeRay has not created the head pod yet{late}")
    if not head_ready:
        return waiting(_TYPE, Reason.HEAD_STARTING, f"head pod {heads[0].name} is not ready yet")
    text = f"{ready} of {wanted} worker pods are ready{_lacking(sizes, ready_pods)}{describe_terminating(seen.workers)}"
    if len(workers) < wanted:
        text += f"; KubeRay has created {len(workers)} of the worker pods{late}"
    return waiting(_TYPE, Reason.WORKERS_STARTING, text)


def _lacking(sizes: Mapping[str, GroupSize], ready: Mapping[str, int]) -> str:
    """Return the groups that wait for pods: `` (big 1 of 2)``, or an empty text if there is only one group."""
    if len(sizes) == 1:
        return ""
    incomplete = [f"{name} {ready[name]} of {size.pods}" for name, size in sizes.items() if ready[name] < size.pods]
    return f" ({', '.join(incomplete)})"


def _secret_taken(cluster: PodOwner) -> str:
    return (
        f"Secret {cluster.name} is not KubeRay's: it has no key {names.TOKEN_SECRET_KEY}; delete the Secret, or give "
        "the fleet another name"
    )


def _ready_pods(seen: Situation, group: str, size: GroupSize) -> int:
    # A pod that KubeRay must delete may still be ready, so the count is at most the size of the group.
    return min(count_ready(not_terminating(seen.of_group(group))), size.pods)


def _problem(
    seen: Situation, cluster: PodOwner, heads: Sequence[Pod], workers: Sequence[Pod], groups: Sequence[str]
) -> PodProblem | Warned | None:
    for found, unschedulable in (
        (common_problem(heads, "head pods"), Reason.HEAD_UNSCHEDULABLE),
        *((one, Reason.COLLECTOR_UNSCHEDULABLE) for one in _of_workers(seen, workers, groups)),
    ):
        if found is not None:
            return PodProblem(unschedulable if found.reason == UNSCHEDULABLE else found.reason, found.message)
    return newest_about_pods_of(seen, cluster, (*heads, *workers), _TYPE)


def _of_workers(seen: Situation, workers: Sequence[Pod], groups: Sequence[str]) -> list[PodProblem | None]:
    """Return the most common problem of the worker pods. If the fleet has several groups, return one for each group."""
    if len(groups) == 1:
        return [common_problem(workers, "worker pods")]
    return [common_problem(not_terminating(seen.of_group(name)), f"worker pods of group {name}") for name in groups]
