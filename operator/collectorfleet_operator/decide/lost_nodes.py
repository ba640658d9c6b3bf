"""Pods whose node is lost: they hang, because their kubelet cannot say that they ended. Pure.

Kubernetes marks them for deletion once they no longer tolerate the loss, and then waits for the kubelet, as KubeRay and
the Job controller do. Past their grace they are given up. If the node returns, its processes find the Lease taken, and
a Ray cluster that continued without them.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from collectorfleet_operator.children.pod_template import PodRole
from collectorfleet_operator.decide.heads import is_in_use
from collectorfleet_operator.decide.pod import Pod
from collectorfleet_operator.decide.situation import Situation, once

# For a kubelet that is there after all, and slow.
_MARGIN: Final = timedelta(seconds=5)


@once
def given_up(seen: Situation) -> list[Pod]:
    """Return pods that are lost with their node and whose grace is over, or with which nothing could be lost."""
    return [pod for pod in _lost(seen) if seen.now >= _given_up_at(seen, pod)]


def until_given_up(seen: Situation) -> timedelta | None:
    """How long until the next of them is; None if none will be."""
    left = [_given_up_at(seen, pod) - seen.now for pod in _lost(seen)]
    return min((one for one in left if one > timedelta(0)), default=None)


@once
def _lost(seen: Situation) -> list[Pod]:
    found = (*seen.cluster_pods, *seen.driver_pods)
    return [pod for pod in found if pod.is_lost_with_node and not _waits_for_a_finalizer_alone(seen, pod)]


def _waits_for_a_finalizer_alone(seen: Situation, pod: Pod) -> bool:
    """Whether the pod has no grace any more: nothing that is done about it again would change anything.

    Whoever took it from the present driver, its Job waits for that pod and has to be made anew.
    """
    job = seen.job
    is_present_driver = seen.is_usable(job) and pod.controller == job.uid
    return pod.has_no_grace and not is_present_driver


def _given_up_at(seen: Situation, pod: Pod) -> datetime:
    # The time of a deletion is when the grace that was asked for ends.
    grace = timedelta(seconds=pod.grace_seconds)
    return pod.deleted - grace if _is_of_no_use(seen, pod) else pod.deleted + _MARGIN


def _is_of_no_use(seen: Situation, pod: Pod) -> bool:
    """Whether it is a driver that is lost, or a head that no driver works with; the next driver may find that head."""
    if pod.role == PodRole.HEAD:
        return not is_in_use(seen)
    driver = seen.driver_pod
    return driver is not None and driver.uid == pod.uid and seen.driver_is_lost
