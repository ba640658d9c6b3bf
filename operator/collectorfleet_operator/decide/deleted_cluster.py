"""Decides when a RayCluster may be deleted, and shortens the grace period of a deleted RayCluster's pods. Pure.

A driver that gets SIGTERM still needs its collectors for its batch, and its learners for its checkpoint. So if the run
can resume, the RayCluster stays until this driver has ended or is lost.

KubeRay finds pods by name. So the operator creates the next RayCluster only after the deleted RayCluster's pods are
gone. Worker pods have a long grace period, in which collectors end their rollouts. After the end of the driver, these
rollouts have no use.
"""

from __future__ import annotations

from typing import Final

from collectorfleet_operator.children.driver_job import CONTAINER
from collectorfleet_operator.decide.heads import has_collectors, is_in_use
from collectorfleet_operator.decide.pod import Pod
from collectorfleet_operator.decide.resuming import resumes
from collectorfleet_operator.decide.situation import Situation, cached_per_situation

# The shortest grace period with which the kubelet still ends the containers of a pod.
GRACE_SECONDS: Final = 1
# The limit for one reconcile. The changes of these pods trigger the next reconcile.
_PODS_AT_A_TIME: Final = 100


@cached_per_situation
def driver_lost_its_raycluster(seen: Situation) -> bool:
    """Return whether the present driver used a RayCluster that is deleted or terminating. Such a driver soon fails.

    A driver that waits for the next RayCluster has no collectors. Such a driver may repeat the previous driver's
    report, so a report counts only while its driver holds the Lease.
    """
    is_gone = seen.present.spec.has_ray and not seen.is_usable(seen.cluster)
    has_lease = seen.lease_unchanged_for is not None
    return is_gone and has_lease and seen.driver_phase == "Running" and has_collectors(seen)


def a_driver_uses_its_cluster(seen: Situation) -> bool:
    """Return whether a driver still works on its batch or checkpoint, although its run must end."""
    pod = seen.driver_pod
    if pod is None or seen.driver_phase != "Running" or seen.driver_is_lost or pod.is_lost_with_node:
        return _a_driver_ends(seen)
    return resumes(seen.present.spec)


def unused_pods(seen: Situation) -> list[Pod]:
    """Return at most 100 pods whose grace period can be shortened.

    These pods belong to deleted or terminating RayClusters or Jobs.
    """
    if seen.is_usable(seen.cluster) or is_in_use(seen) or _a_driver_ends(seen):
        return []
    there = {cluster.uid for cluster in seen.clusters if not cluster.is_terminating}
    left = [pod for pod in seen.cluster_pods if pod.controller not in there]
    return [pod for pod in left if not pod.is_terminating or pod.grace_seconds > GRACE_SECONDS][:_PODS_AT_A_TIME]


def _a_driver_ends(seen: Situation) -> bool:
    """Return whether an earlier driver is still finishing its batch and checkpoint, and so needs its collectors."""
    left = [pod for pod in seen.leftovers(seen.driver_pods, seen.job) if not pod.is_lost_with_node]
    return resumes(seen.present.spec) and any(pod.phase_by(CONTAINER) == "Running" for pod in left)
