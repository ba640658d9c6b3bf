"""The time within which KubeRay must create pods. After this time, a condition asks the user to check KubeRay. Pure."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from collectorfleet_api.conditions.condition import is_true
from collectorfleet_api.v1alpha1 import ConditionType
from collectorfleet_operator.decide.pods import not_terminating
from collectorfleet_operator.decide.situation import Situation, cached_per_situation

# KubeRay normally creates pods within one or two seconds.
MAKES_PODS_WITHIN: Final = timedelta(seconds=15)


@cached_per_situation
def until_late(seen: Situation) -> timedelta | None:
    """Return the time that KubeRay has left to create missing pods, or None if no pod is missing."""
    cluster = seen.cluster
    if not seen.is_usable(cluster) or not seen.present.spec.has_ray:
        return None
    wanted = sum(size.pods for size in cluster.sizes.values())
    of_groups = [*seen.workers, *seen.evaluators]
    if not_terminating(seen.heads) and len(not_terminating(of_groups)) >= wanted:
        return None
    before = seen.fleet.status.condition(ConditionType.RAY_CLUSTER_READY) if seen.fleet.status else None
    # A condition that is still true becomes false in this reconcile, so the time counts from now.
    turned = seen.now if before is None or is_true(before) else before.last_transition_time or seen.now
    return max(turned, cluster.created) + MAKES_PODS_WITHIN - seen.now


def is_late(seen: Situation) -> bool:
    left = until_late(seen)
    return left is not None and left <= timedelta(0)
