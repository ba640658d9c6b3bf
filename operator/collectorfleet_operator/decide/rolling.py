"""Worker pods that go although their number stays: the driver is asked to leave them. Pure.

A pod from another template than its group's present template is replaced once no collector uses it, a few pods at a
time. The driver says when it has left the pod. KubeRay then deletes the pod by name and creates another from the
group's template. A pod that is not ready collects nothing and is replaced first: a corrected template would otherwise
wait for the broken pods.

An evaluator pod holds nothing that the driver has to leave, so it is replaced at once. All of them are replaced
together: the driver repeats the evaluation for each loss.

The driver leaves a pod that is being deleted from outside, for example by an eviction, within its grace period. KubeRay
would count the pod until it is gone, so KubeRay gets its name and creates another at once.

None of it concerns a fleet without Ray: its Job is created again with its template, and replaces lost pods.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Final

from collectorfleet_api.conditions.condition import is_true
from collectorfleet_api.names import EVALUATOR_GROUP, LEARNER_GROUP
from collectorfleet_api.v1alpha1 import ConditionType, Orders
from collectorfleet_operator.children.group_sizes import worker_groups
from collectorfleet_operator.children.worker_group import template_label_of
from collectorfleet_operator.decide.pod import Pod
from collectorfleet_operator.decide.situation import Situation, once
from collectorfleet_operator.objects import Object

_ALL: Final = 100  # percent


def outdated_pods(seen: Situation, desired: Object | None = None) -> list[Pod]:
    """Pods that are not of their group's template, by name; those that are on their way out are not listed.

    ``desired``: the RayCluster that is about to be applied, whose templates count then.
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


@once
def _of_other_templates(seen: Situation, templates: tuple[tuple[str, str | None], ...]) -> list[Pod]:
    wanted = dict(templates)
    found = [
        pod
        for pod in (*seen.workers, *seen.evaluators)
        if not pod.is_terminating and pod.template != wanted.get(pod.group)
    ]
    return sorted(found, key=attrgetter("name"))


@once
def to_drain(seen: Situation) -> list[str]:
    """The pods that the driver is to leave now: as many as may be unavailable at a time, until they are gone."""
    if not seen.is_usable(seen.cluster) or not seen.present.spec.has_ray:
        return []
    old = [pod for pod in outdated_pods(seen) if pod.group != EVALUATOR_GROUP]
    sizes = seen.cluster.sizes
    going = {name for size in sizes.values() for name in size.to_delete}
    # A change that is taken back gives those back that nobody deletes yet.
    going |= {pod.name for pod in old}
    leaving = {pod.name for pod in seen.workers if pod.is_terminating or pod.name in going}
    draining = [name for name in _requested_drains(seen) if name in leaving]
    # Whatever may be unavailable at a time: these are going anyway, or are unavailable already.
    draining += [pod.name for pod in evicted(seen) if pod.name not in draining]
    draining += [pod.name for pod in old if _is_broken(pod) and pod.name not in draining]
    for group, size in sizes.items():
        room = _most_unavailable(seen, size.pods) - _unavailable(seen, group, size.pods, draining)
        fresh = [pod.name for pod in old if pod.group == group and pod.name not in draining]
        draining += fresh[: max(0, room)]
    return sorted(draining)


def evicted(seen: Situation) -> list[Pod]:
    """Worker pods that are being deleted and can still be left; what ran on a lost node is lost already.

    Learners leave none: Ray builds them anew where their shard is placed next.
    """
    empty = seen.report.drained_pods if seen.report else []
    return [
        pod
        for pod in seen.workers
        if pod.is_terminating and not pod.is_lost_with_node and pod.name not in empty and pod.group != LEARNER_GROUP
    ]


def to_replace(seen: Situation, group: str, desired: Object) -> list[str]:
    """The pods of a group that KubeRay is to put another one in the place of: nothing is left on them, or they go.

    A driver never says that it left a pod on which no collector ever was. Should one be on a pod that is not ready, it
    is left in the pod's grace, as in an eviction.

    ``desired`` is the RayCluster that is about to be applied. The operator does not see its own write as a change, so
    there may be no other reconcile soon.
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
    """Return when the replacement last made progress: it began, the driver was asked for a pod, or a pod was made.

    ``new_orders`` are not stored yet. The stored status shows neither a replacement nor orders that begin now.
    """
    stored = seen.fleet.status
    before = stored.condition(ConditionType.UP_TO_DATE) if stored else None
    began = before.last_transition_time if before is not None and not is_true(before) else None
    since = [orders.since for orders in (new_orders, stored.orders if stored else None) if orders]
    return max([began or seen.now, *since, *(pod.created for pod in seen.workers)])


def until_overdue(seen: Situation, new_orders: Orders | None) -> timedelta | None:
    """How long the replacement may still stand; None where there is nothing to replace."""
    if not outdated_pods(seen):
        return None
    return last_progress_at(seen, new_orders) + timedelta(seconds=seen.fleet.spec.progress_deadline_seconds) - seen.now


def _requested_drains(seen: Situation) -> Sequence[str]:
    before: Orders | None = seen.fleet.status.orders if seen.fleet.status else None
    driver = seen.driver_pod
    return before.drain_pods if before is not None and driver is not None and before.driver == driver.name else ()


def _is_broken(pod: Pod) -> bool:
    """Whether the pod collects nothing by its own kubelet's word, which on a silent node is an old one.

    One that was ready and is not for a moment is none: a template whose pods crash would take its place.
    """
    return pod.was_never_ready and not pod.is_node_silent


def _unavailable(seen: Situation, group: str, wanted: int, draining: Sequence[str]) -> int:
    """Pods of the group that do not collect: missing, not ready, on their way out, or drained."""
    collecting = [
        pod for pod in seen.of_group(group) if pod.is_ready and not pod.is_terminating and pod.name not in draining
    ]
    return max(0, wanted - len(collecting))


def _most_unavailable(seen: Situation, wanted: int) -> int:
    most = seen.fleet.spec.update_strategy.rolling_update.max_unavailable
    if isinstance(most, int):
        return most
    return max(1, wanted * int(most.removesuffix("%")) // _ALL)
