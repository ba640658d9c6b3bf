"""Replacement of worker pods: the driver drains outdated and evicted pods, and KubeRay replaces them. Pure.

Pods from an outdated template are replaced a few at a time. The driver drains such a pod and reports when no collector
uses the pod. KubeRay then deletes the pod by name and creates another pod from the group's template. A pod that
was never ready collects nothing and is replaced first: a corrected template would otherwise wait for broken pods.

An evaluator pod needs no drain, so it is replaced at once. All evaluator pods are replaced together, because the driver
repeats the evaluation for each loss.

If another client deletes a pod, for example by an eviction, the driver drains the pod within the pod's grace period.
KubeRay would count the pod until it is gone. So the operator passes the pod's name to KubeRay, which creates another
pod at once.

A fleet without Ray needs none of this: a changed template replaces its Job, and the Job replaces lost pods.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Final

from collectorfleet_api.conditions.condition import is_true
from collectorfleet_api.names import EVALUATOR_GROUP, LEARNER_GROUP
from collectorfleet_api.times import duration
from collectorfleet_api.v1alpha1 import ConditionType, Orders
from collectorfleet_api.v1alpha1.status import MOST_DRAINED_PODS
from collectorfleet_operator.children.group_sizes import worker_groups
from collectorfleet_operator.children.worker_group import template_label_of
from collectorfleet_operator.decide.pod import Pod
from collectorfleet_operator.decide.situation import Situation, cached_per_situation
from collectorfleet_operator.objects import Object

_ALL: Final = 100  # percent


def outdated_pods(seen: Situation, desired: Object | None = None) -> list[Pod]:
    """Return the pods from an outdated template of their group, sorted by name, without terminating pods.

    ``desired``: a RayCluster that is about to be applied. Its templates then replace those of the stored RayCluster.
    """
    cluster = seen.raycluster
    if not seen.is_usable(cluster) or not seen.present.spec.has_ray:
        return []
    if desired is None:
        return _of_other_templates(seen, tuple(cluster.templates.items()))
    groups = worker_groups(desired)
    return _of_other_templates(
        seen, tuple((name, template_label_of(group["template"])) for name, group in groups.items())
    )


@cached_per_situation
def _of_other_templates(seen: Situation, templates: tuple[tuple[str, str | None], ...]) -> list[Pod]:
    wanted = dict(templates)
    found = [
        pod
        for pod in (*seen.workers, *seen.evaluators)
        if not pod.is_terminating and pod.template != wanted.get(pod.group)
    ]
    return sorted(found, key=attrgetter("name"))


@cached_per_situation
def pods_to_drain(seen: Situation) -> list[str]:
    """Return the names of the pods that the driver must drain now. A pod stays listed until it is gone.

    Outdated pods that work are drained only up to ``maxUnavailable`` at a time.
    """
    if not seen.is_usable(seen.cluster) or not seen.present.spec.has_ray:
        return []
    old = [pod for pod in outdated_pods(seen) if pod.group != EVALUATOR_GROUP]
    sizes = seen.cluster.sizes
    going = {name for size in sizes.values() for name in size.to_delete}
    # If the user reverts the change, pods that are not being deleted yet are removed from the list.
    going |= {pod.name for pod in old}
    leaving = {pod.name for pod in seen.workers if pod.is_terminating or pod.name in going}
    draining = [name for name in _requested_drains(seen) if name in leaving]
    # These pods may exceed maxUnavailable: evicted pods are being deleted anyway, and broken pods are unavailable.
    draining += [pod.name for pod in evicted(seen) if pod.name not in draining]
    draining += [pod.name for pod in old if _is_broken(pod) and pod.name not in draining]
    for group, size in sizes.items():
        room = _most_unavailable(seen, size.pods) - _unavailable(seen, group, size.pods, draining)
        fresh = [pod.name for pod in old if pod.group == group and pod.name not in draining]
        draining += fresh[: max(0, room)]
    # The orders have a limited length. Pods of earlier orders come first, so they stay listed until they are gone.
    return sorted(draining[:MOST_DRAINED_PODS])


def evicted(seen: Situation) -> list[Pod]:
    """Return the terminating worker pods whose collectors the driver can still drain.

    Pods on lost nodes do not count: their collectors are lost already. Learner pods are not drained: Ray creates
    their learners again where their shard is placed next.
    """
    empty = seen.report.drained_pods if seen.report else []
    return [
        pod
        for pod in seen.workers
        if pod.is_terminating and not pod.is_lost_with_node and pod.name not in empty and pod.group != LEARNER_GROUP
    ]


def to_replace(seen: Situation, group: str, desired: Object) -> list[str]:
    """Return the names of the group's pods that KubeRay must replace: terminating, drained and broken pods.

    The operator does not wait for the drain of a broken pod. If a pod never had a collector, the driver never reports
    the pod as drained. If a broken pod does have a collector, the driver drains the pod within the pod's grace period,
    as in an eviction.

    ``desired`` is the RayCluster that is about to be applied. The operator's own write triggers no reconcile, so the
    next reconcile may be late.
    """
    empty = set(seen.report.drained_pods if seen.report else []) & set(_requested_drains(seen))
    nothing_to_leave = group == EVALUATOR_GROUP or seen.driver_phase != "Running"
    going = [pod.name for pod in seen.of_group(group) if pod.is_terminating]
    return going + [
        pod.name
        for pod in outdated_pods(seen, desired)
        if pod.group == group and (nothing_to_leave or pod.name in empty or _is_broken(pod))
    ]


def last_progress_at(seen: Situation, new_orders: Orders | None) -> datetime:
    """Return when the replacement of pods last began, ordered a drain or created a pod.

    ``new_orders`` are the orders that are not stored yet. A replacement that begins now is not in the stored status.
    """
    stored = seen.fleet.status
    before = stored.condition(ConditionType.UP_TO_DATE) if stored else None
    began = before.last_transition_time if before is not None and not is_true(before) else None
    since = [orders.since for orders in (new_orders, stored.orders if stored else None) if orders]
    return max([began or seen.now, *since, *(pod.created for pod in seen.workers)])


def until_overdue(seen: Situation, new_orders: Orders | None) -> timedelta | None:
    """Return the time until a replacement without progress is overdue, or None if no pod is outdated."""
    if not outdated_pods(seen):
        return None
    return last_progress_at(seen, new_orders) + duration(seen.fleet.spec.progress_deadline_seconds) - seen.now


def _requested_drains(seen: Situation) -> Sequence[str]:
    before: Orders | None = seen.fleet.status.orders if seen.fleet.status else None
    driver = seen.driver_pod
    return before.drain_pods if before is not None and driver is not None and before.driver == driver.name else ()


def _is_broken(pod: Pod) -> bool:
    """Return whether the pod was never ready, and so collects nothing. Pods on silent nodes do not count as broken.

    A pod that is unready for a moment is not broken: otherwise pods of a crashing template could replace this pod.
    """
    return pod.was_never_ready and not pod.is_node_silent


def _unavailable(seen: Situation, group: str, wanted: int, draining: Sequence[str]) -> int:
    """Return how many of the group's pods do not collect: missing, unready, terminating or draining pods."""
    collecting = [
        pod for pod in seen.of_group(group) if pod.is_ready and not pod.is_terminating and pod.name not in draining
    ]
    return max(0, wanted - len(collecting))


def _most_unavailable(seen: Situation, wanted: int) -> int:
    most = seen.fleet.spec.update_strategy.rolling_update.max_unavailable
    if isinstance(most, int):
        return most
    return max(1, wanted * int(most.removesuffix("%")) // _ALL)
