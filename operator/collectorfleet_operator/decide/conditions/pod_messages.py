"""Texts of conditions about the pods of a RayCluster or of the collectors' Job. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from collectorfleet_api.v1alpha1 import ConditionType
from collectorfleet_operator.decide.pod import Pod
from collectorfleet_operator.decide.situation import Situation

_MOST: Final = 3


def cluster_type(seen: Situation) -> ConditionType:
    """Return the type of the condition about the fleet's RayCluster or collectors' Job."""
    has_ray = seen.present.spec.has_ray
    return ConditionType.RAY_CLUSTER_READY if has_ray else ConditionType.COLLECTORS_JOB_READY


def describe_lost_pods(found: Sequence[Pod]) -> str:
    """Return a text about at most three pods on lost or silent nodes, by name, or an empty text if there are none."""
    messages = [f"pod {pod.name} is lost with node {pod.node}" for pod in found if pod.is_lost_with_node]
    messages += [
        f"pod {pod.name} cannot be reached, because node {pod.node} does not answer"
        for pod in found
        if pod.is_node_silent and not pod.is_terminating
    ]
    return "; ".join(messages[:_MOST])


def describe_terminating(workers: Sequence[Pod]) -> str:
    """Return ``; being deleted: ...`` with at most three pod names, or an empty text if no pod is being deleted."""
    names_ = [pod.name for pod in workers if pod.is_terminating]
    return f"; being deleted: {', '.join(names_[:_MOST])}" if names_ else ""
