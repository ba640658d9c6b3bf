"""A RayCluster that was deleted: what is done at once instead of waiting for the grace of its pods. Pure.

KubeRay finds pods by name, so the next RayCluster is made when the pods of the deleted one are gone. Worker pods have
a long grace, in which collectors end their rollouts. Nobody waits for these rollouts once the driver has ended.
"""

from __future__ import annotations

from typing import Final

from collectorfleet_operator.children.driver_job import CONTAINER
from collectorfleet_operator.decide.heads import has_collectors, is_in_use
from collectorfleet_operator.decide.pod import Pod
from collectorfleet_operator.decide.resuming import resumes
from collectorfleet_operator.decide.situation import Situation, once

# The least that leaves the kubelet to end a pod.
GRACE_SECONDS: Final = 1
# In one look. The news of these pods bring the next look.
_PODS_AT_A_TIME: Final = 100


@once
def driver_lost_its_raycluster(seen: Situation) -> bool:
    """Whether the present driver worked with a RayCluster that is gone or going, and so fails in a moment.

    A driver that waits for the next RayCluster has no collectors. What it repeats of its predecessor counts as the
    predecessor's until it has the Lease.
    """
    is_gone = seen.present.spec.has_ray and not seen.is_usable(seen.cluster)
    has_lease = seen.lease_unchanged_for is not None
    return is_gone and has_lease and seen.driver_phase == "Running" and has_collectors(seen)


def unused_pods(seen: Situation) -> list[Pod]:
    """Return pods of a RayCluster that is gone or going, which have more grace than they need: at most 100 of them."""
    if seen.is_usable(seen.cluster) or is_in_use(seen) or _a_driver_ends(seen):
        return []
    there = {cluster.uid for cluster in seen.clusters if not cluster.is_terminating}
    left = [pod for pod in seen.cluster_pods if pod.controller not in there]
    return [pod for pod in left if not pod.is_terminating or pod.grace_seconds > GRACE_SECONDS][:_PODS_AT_A_TIME]


def _a_driver_ends(seen: Situation) -> bool:
    """Whether an earlier driver still ends its batch and writes its checkpoint, which takes its collectors."""
    left = [pod for pod in seen.leftovers(seen.driver_pods, seen.job) if not pod.is_lost_with_node]
    return resumes(seen.present.spec) and any(pod.phase_by(CONTAINER) == "Running" for pod in left)
