"""Pods on lost nodes. They stay terminating, because no kubelet reports their end. Pure.

Kubernetes marks these pods for deletion when their toleration of the loss ends, and then waits for the kubelet. KubeRay
and the Job controller wait, too. After the grace period the operator deletes these pods by force. If the node returns
later, another driver already has the Lease, and the Ray cluster has continued without the node.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from collectorfleet_api.times import duration
from collectorfleet_operator.children.pod_template import PodRole
from collectorfleet_operator.decide.heads import is_in_use
from collectorfleet_operator.decide.pod import Pod
from collectorfleet_operator.decide.situation import Situation, cached_per_situation

# Added to the grace period, for a kubelet that still works but is slow.
_MARGIN: Final = timedelta(seconds=5)


@cached_per_situation
def pods_to_force_delete(seen: Situation) -> list[Pod]:
    """Return the pods on lost nodes to delete by force now: their grace period is over or has no use."""
    return [pod for pod in _lost(seen) if seen.now >= _given_up_at(seen, pod)]


def until_next_force_delete(seen: Situation) -> timedelta | None:
    """Return the time until the next pod on a lost node is deleted by force, or None if there is no such pod."""
    left = [_given_up_at(seen, pod) - seen.now for pod in _lost(seen)]
    return min((one for one in left if one > timedelta(0)), default=None)


@cached_per_situation
def _lost(seen: Situation) -> list[Pod]:
    found = (*seen.cluster_pods, *seen.driver_pods)
    return [pod for pod in found if pod.is_lost_with_node and not _waits_for_a_finalizer_alone(seen, pod)]


def _waits_for_a_finalizer_alone(seen: Situation, pod: Pod) -> bool:
    """Return whether the pod was deleted without grace, so that another deletion would change nothing.

    Return False for the pod of the present driver. The driver's Job waits for this pod, so the operator must replace
    the Job.
    """
    job = seen.job
    is_present_driver = seen.is_usable(job) and pod.controller == job.uid
    return pod.has_no_grace and not is_present_driver


def _given_up_at(seen: Situation, pod: Pod) -> datetime:
    # A pod's deletionTimestamp is the end of its grace period.
    grace = duration(pod.grace_seconds)
    return pod.deleted - grace if _is_of_no_use(seen, pod) else pod.deleted + _MARGIN


def _is_of_no_use(seen: Situation, pod: Pod) -> bool:
    """Return whether the pod is a lost driver or an unused head. The next driver could connect to such a head."""
    if pod.role == PodRole.HEAD:
        return not is_in_use(seen)
    driver = seen.driver_pod
    return driver is not None and driver.uid == pod.uid and seen.driver_is_lost
