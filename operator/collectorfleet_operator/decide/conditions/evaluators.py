"""The part of ``RayClusterReady`` about evaluator pods, once head and workers are ready. Pure.

The fleet collects without its evaluators, so missing evaluators do not make the fleet unready.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from collectorfleet_api import names
from collectorfleet_api.conditions.condition import condition
from collectorfleet_api.v1alpha1 import ConditionType, Reason
from collectorfleet_operator.decide.conditions.finding import Finding, problem_finding, waiting
from collectorfleet_operator.decide.conditions.pod_messages import describe_lost_pods, describe_terminating
from collectorfleet_operator.decide.pod import Pod
from collectorfleet_operator.decide.pod_owner import PodOwner
from collectorfleet_operator.decide.pod_problem import UNSCHEDULABLE
from collectorfleet_operator.decide.pods import common_problem, count_ready, not_terminating
from collectorfleet_operator.decide.situation import Situation
from collectorfleet_operator.decide.warnings import newest_about_pods_of

_TYPE: Final = ConditionType.RAY_CLUSTER_READY


def with_evaluators(seen: Situation, cluster: PodOwner, workers: str, late: str) -> Finding:
    """Return the condition of a RayCluster whose head and worker pods are ready.

    ``workers`` describes the worker pods in words. ``late`` is appended to the message if KubeRay has not made all
    evaluator pods.
    """
    size = cluster.sizes.get(names.EVALUATOR_GROUP)
    if size is None:
        return _ready(f"the head and {workers}")
    found = not_terminating(seen.evaluators)
    ready = min(count_ready(found), size.pods)
    if ready >= size.pods:
        return _ready(f"the head, {workers} and {ready} of {size.pods} evaluator pods")
    trouble = _problem(seen, cluster, found)
    if trouble is None:
        evaluators = f"{ready} of {size.pods} evaluator pods{describe_terminating(seen.evaluators)}"
        text = f"the head and {workers} are ready, and {evaluators}"
        if len(found) < size.pods:
            text += f"; KubeRay has created {len(found)} of the evaluator pods{late}"
        trouble = waiting(_TYPE, Reason.WORKERS_STARTING, text)
    return replace(trouble, is_needed=False)


def _ready(what: str) -> Finding:
    return Finding(condition(_TYPE, True, Reason.READY, f"{what} are ready"))


def _problem(seen: Situation, cluster: PodOwner, found: list[Pod]) -> Finding | None:
    lost = describe_lost_pods(seen.evaluators)
    if lost:
        return problem_finding(_TYPE, Reason.NODE_LOST, lost)
    common = common_problem(found, "evaluator pods")
    if common is not None:
        is_unschedulable = common.reason == UNSCHEDULABLE
        reason = Reason.EVALUATOR_UNSCHEDULABLE if is_unschedulable else common.reason
        return problem_finding(_TYPE, reason, common.message)
    warned = newest_about_pods_of(seen, cluster, found, _TYPE)
    return None if warned is None else problem_finding(_TYPE, warned.reason, warned.message)
