"""What conditions say of the pods that hold collectors, whoever makes them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from collectorfleet_api.v1alpha1 import ConditionType
from collectorfleet_operator.decide.lost_nodes import does_not_answer, is_marked, node_of
from collectorfleet_operator.decide.observed import Observed
from collectorfleet_operator.objects import Object, is_terminating, name_of

_MOST: Final = 3


def cluster_type(seen: Observed) -> ConditionType:
    """Which condition is about what holds the collectors."""
    has_ray = seen.present.spec.has_ray
    return ConditionType.RAY_CLUSTER_READY if has_ray else ConditionType.COLLECTORS_JOB_READY


def lost_pods(found: Sequence[Object]) -> str:
    """Return which of the pods are on a node that is lost or silent, each by name; empty if none is."""
    told = [f"pod {name_of(pod)} is lost with node {node_of(pod)}" for pod in found if is_marked(pod)]
    told += [
        f"pod {name_of(pod)} does not answer: node {node_of(pod)} is silent"
        for pod in found
        if not is_terminating(pod) and does_not_answer(pod)
    ]
    return "; ".join(told[:_MOST])


def going(workers: Sequence[Object]) -> str:
    """``; being deleted: ...`` by name; empty if none is."""
    names_ = [name_of(pod) for pod in workers if is_terminating(pod)]
    return f"; being deleted: {', '.join(names_[:_MOST])}" if names_ else ""


def staying(found: Sequence[Object]) -> list[Object]:
    """Those that nobody deletes."""
    return [pod for pod in found if not is_terminating(pod)]
