"""Pods whose node is lost: they hang, because their kubelet cannot say that they ended. Pure.

Kubernetes marks them for deletion once they no longer tolerate the loss, and then waits for the kubelet, as KubeRay and
the Job controller do. Past their grace they are given up. If the node returns, its processes find the Lease taken, and
a Ray cluster that continued without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from collectorfleet_operator.children.pod_template import PodRole
from collectorfleet_operator.decide import pods
from collectorfleet_operator.decide.heads import is_in_use
from collectorfleet_operator.decide.observed import Observed
from collectorfleet_operator.objects import Object, controller_uid, deleted_at, is_terminating, metadata, uid_of

# For a kubelet that is there after all, and slow.
_MARGIN: Final = timedelta(seconds=5)
_MARKED_BY: Final = "DeletionByTaintManager"
# A kubelet's word about a pod whose containers are all ready.
_GATES: Final = "ReadinessGatesNotReady"


def is_marked(pod: Object) -> bool:
    """Whether Kubernetes deletes the pod because of its node."""
    conditions = (pod.get("status") or {}).get("conditions") or []
    return is_terminating(pod) and any(
        one["type"] == "DisruptionTarget" and one["status"] == "True" and one.get("reason") == _MARKED_BY
        for one in conditions
    )


def given_up(seen: Observed, now: datetime) -> list[Object]:
    """Marked pods of the fleet whose grace is over, or that nothing could be lost with any more."""
    return [pod for pod in _marked(seen) if now >= _given_up_at(seen, pod)]


def until_given_up(seen: Observed, now: datetime) -> timedelta | None:
    """How long until the next of them is; None if none will be."""
    left = [_given_up_at(seen, pod) - now for pod in _marked(seen)]
    return min((one for one in left if one > timedelta(0)), default=None)


def does_not_answer(pod: Object) -> bool:
    """Whether Kubernetes calls the pod unready although its own kubelet last called it ready: its node is silent."""
    status = pod.get("status") or {}
    if pods.is_ready(pod) or any(one.get("reason") == _GATES for one in status.get("conditions") or []):
        return False
    statuses = status.get("containerStatuses") or []
    return bool(statuses) and all(one.get("ready") for one in statuses)


def node_of(pod: Object) -> str:
    return str((pod.get("spec") or {}).get("nodeName", "?"))


def _marked(seen: Observed) -> Sequence[Object]:
    found = (*seen.cluster_pods, *seen.driver_pods)
    return [pod for pod in found if is_marked(pod) and not _waits_for_a_finalizer_alone(seen, pod)]


def _waits_for_a_finalizer_alone(seen: Observed, pod: Object) -> bool:
    """Whether the pod has no grace any more: nothing that is done about it again would change anything.

    Whoever took it from the present driver, its Job waits for that pod and has to be made anew.
    """
    job = seen.job
    is_present_driver = seen.is_usable(job) and controller_uid(pod) == uid_of(job)
    return metadata(pod).get("deletionGracePeriodSeconds") == 0 and not is_present_driver


def _given_up_at(seen: Observed, pod: Object) -> datetime:
    # The time of a deletion is when the grace that was asked for ends.
    deletion = deleted_at(pod)
    grace = timedelta(seconds=int(metadata(pod).get("deletionGracePeriodSeconds") or 0))
    return deletion - grace if _is_of_no_use(seen, pod) else deletion + _MARGIN


def _is_of_no_use(seen: Observed, pod: Object) -> bool:
    """Whether it is a driver that is lost, or a head that no driver works with; the next driver may find that head."""
    if pods.of_role([pod], PodRole.HEAD):
        return not is_in_use(seen)
    driver = seen.driver_pod
    return driver is not None and uid_of(driver) == uid_of(pod) and seen.driver_is_lost
