"""Builds the situation of one fleet from the cache."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.driver_job import CONTAINER
from collectorfleet_operator.children.propagation import NOTHING, Propagation
from collectorfleet_operator.children.table import (
    CHILDREN,
    COLLECTORS_CHILD,
    DRIVER_CHILD,
    LEASE_CHILD,
    RAYCLUSTER_CHILD,
    WORKLOAD_CHILD,
    Child,
)
from collectorfleet_operator.children.workload import NEWEST_KUEUE, KueueVersion
from collectorfleet_operator.decide.job import Job
from collectorfleet_operator.decide.lease import Lease
from collectorfleet_operator.decide.pod import Pod
from collectorfleet_operator.decide.raycluster import RayCluster
from collectorfleet_operator.decide.situation import Refused, Situation, Warned
from collectorfleet_operator.decide.workload import Workload
from collectorfleet_operator.edge.cache import Cache
from collectorfleet_operator.edge.readings import Readings
from collectorfleet_operator.objects import (
    Key,
    Object,
    metadata,
    why_unreadable,
)


class UnreadableError(Exception):
    """A child or a pod of a fleet cannot be read. The message has the object's name and the reason."""


def observe(
    cache: Cache,
    key: Key,
    stored: Object,
    fleet: CollectorFleet,
    *,
    wrong: Sequence[str],
    readings: Readings,
    kuberay_installed: bool,
    why_no_queues: str = "",
    kueue: KueueVersion = NEWEST_KUEUE,
    flavors: Mapping[str, Object] | None = None,
    priority_class: Object | None = None,
    propagation: Propagation = NOTHING,
    refused: Sequence[Refused] = (),
    warnings: Sequence[Warned] = (),
    code_changed_at: datetime | None = None,
    now: datetime,
) -> Situation:
    """Return the situation of a fleet.

    ``fleet`` is the parsed ``stored`` object. ``wrong`` has its problems in sentences. Both come from ``readings``.
    Raises UnreadableError if a child or a pod cannot be read: decisions need complete observations.
    """
    children, labelled = children_of(cache, key), cache.pods_of(key)
    job = cache.facts(Job, DRIVER_CHILD.key(key))
    raycluster = cache.facts(RayCluster, RAYCLUSTER_CHILD.key(key))
    collectors_job = cache.facts(Job, COLLECTORS_CHILD.key(key))
    orphans = {owner.uid for owner in (job, raycluster, collectors_job) if owner is not None and owner.is_orphan}
    # The pods of an orphan have the fleet's label, too, but they stay until a user deletes the orphan.
    pods = [pod for pod in labelled if pod.controller is not None and pod.controller not in orphans]
    _check_readable(children.values(), pods)
    seen = Situation(
        fleet=fleet,
        now=now,
        running=readings.running(stored, children.get(DRIVER_CHILD)),
        children=children,
        job=job,
        raycluster=raycluster,
        collectors_job=collectors_job,
        workload=cache.facts(Workload, WORKLOAD_CHILD.key(key)),
        pods=pods,
        ignored_pods=[pod for pod in labelled if pod.controller is None],
        problems=wrong,
        kuberay_installed=kuberay_installed,
        why_no_queues=why_no_queues,
        kueue=kueue,
        flavors=flavors or {},
        priority_class=priority_class,
        propagation=propagation,
        refused=refused,
        warnings=warnings,
        code_changed_at=code_changed_at,
        reported_at=_reported_at(stored),
    )
    of, pod = LEASE_CHILD.key(key), seen.driver_pod
    if pod is None:
        return seen
    lease = cache.facts(Lease, of)
    if lease is not None and lease.is_held_by(pod):
        return replace(
            seen, lease_unchanged_for=cache.unchanged_for(of), driver_clock_ahead=cache.driver_clock_ahead(of)
        )
    began = pod.began.get(CONTAINER)
    if began is None:
        return seen
    # The time may count from the release, because a driver releases its Lease a moment before its container has ended.
    return replace(seen, driver_without_lease_for=now - max(began, cache.unheld_since(of) or began))


def children_of(cache: Cache, key: Key) -> dict[Child, Object]:
    """Return the objects with the kinds and names of the fleet's children, even if another object owns them."""
    found = {child: cache.get(child.kind, child.key(key)) for child in CHILDREN}
    return {child: stored for child, stored in found.items() if stored is not None}


def _check_readable(children: Iterable[Object], pods: Iterable[Pod]) -> None:
    found = [*map(why_unreadable, children), *(pod.unreadable for pod in pods)]
    why = next((why for why in found if why is not None), None)
    if why is not None:
        raise UnreadableError(why)


def _reported_at(fleet: Object) -> str | None:
    writers = metadata(fleet).get("managedFields") or []
    times = [writer["time"] for writer in writers if writer.get("manager") == names.DRIVER_MANAGER]
    return max(times, default=None)
