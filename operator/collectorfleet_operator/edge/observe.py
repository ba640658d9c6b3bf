"""From the cache to everything that is known about one fleet."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from pydantic import ValidationError

from collectorfleet_api import names
from collectorfleet_api.rules.followed import as_run, with_followed
from collectorfleet_api.rules.validation import problems, read_stored
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.driver_job import CONTAINER, JOB, started_with
from collectorfleet_operator.children.propagation import NOTHING, Propagation
from collectorfleet_operator.children.table import CHILDREN, DRIVER_CHILD, LEASE_CHILD, Child
from collectorfleet_operator.children.workload import NEWEST_KUEUE, KueueVersion
from collectorfleet_operator.decide.observed import Observed, Refused, Warned
from collectorfleet_operator.decide.pod import Pod
from collectorfleet_operator.edge.cache import Cache
from collectorfleet_operator.objects import (
    Key,
    Object,
    controller_uid,
    is_terminating,
    metadata,
    uid_of,
    why_unreadable,
)


class UnreadableError(Exception):
    """A child or a pod of a fleet cannot be read; the message names it and says why."""


def observe(
    cache: Cache,
    key: Key,
    stored: Object,
    fleet: CollectorFleet,
    *,
    wrong: Sequence[str],
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
) -> Observed:
    """``fleet``, and what is ``wrong`` with it, are what :func:`read` makes of the ``stored`` one.

    Raises UnreadableError for a child or a pod that cannot be read: nothing is decided on a part of what there is.
    """
    children, labelled = children_of(cache, key), cache.pods_of(key)
    pods = [pod for pod in labelled if pod.controller is not None]
    _check_readable(children.values(), pods)
    seen = Observed(
        fleet=fleet,
        running=running(stored, children.get(DRIVER_CHILD), None if wrong else fleet),
        children=children,
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
    lease, pod = seen.children.get(LEASE_CHILD), seen.driver_pod
    if pod is None:
        return seen
    if lease is not None and _holds(pod, lease):
        of = LEASE_CHILD.key(key)
        return replace(seen, driver_quiet_for=cache.quiet_for(of), driver_ahead=cache.driver_ahead(of))
    began = pod.began.get(CONTAINER)
    if began is None:
        return seen
    # One that ends gives its Lease back a moment before its container has ended.
    return replace(seen, driver_unheld_for=now - max(began, cache.free_since(LEASE_CHILD.key(key)) or began))


def read(cache: Cache, key: Key, stored: Object) -> tuple[CollectorFleet, Sequence[str]] | None:
    """The stored fleet, with what is wrong with it in sentences; one that cannot be read as its driver runs it.

    None if it cannot be read and nothing of it runs.
    """
    if why_unreadable(stored) is None:
        with contextlib.suppress(ValidationError):
            fleet = CollectorFleet.parse_stored(stored)
            return fleet, [str(problem) for problem in problems(fleet)]
    present = running(stored, cache.get(JOB, DRIVER_CHILD.key(key)))
    return None if present is None else (present, problems_of(stored))


def problems_of(stored: Object) -> list[str]:
    """What is wrong with a stored fleet, in sentences."""
    unreadable = why_unreadable(stored)
    if unreadable is not None:
        return [unreadable]
    found = read_stored(stored)
    return [str(problem) for problem in found] if isinstance(found, list) else []


def running(stored: Object, job: Object | None, fleet: CollectorFleet | None = None) -> CollectorFleet | None:
    """The fleet as its driver's Job runs it, whatever is stored by now; None without a Job of this fleet.

    That is mostly ``fleet``, which is the stored one and has no problems, and then that very one.
    """
    if job is None or controller_uid(job) != uid_of(stored) or is_terminating(job):
        return None
    spec = started_with(job)
    if not spec:
        return None
    if fleet is not None and with_followed(spec, stored.get("spec")) == fleet.spec.to_wire():
        return fleet
    found = as_run(stored, spec)
    return found if isinstance(found, CollectorFleet) else None


def children_of(cache: Cache, key: Key) -> dict[Child, Object]:
    """What stands under the names of the fleet's children, whoever owns it."""
    found = {child: cache.get(child.kind, child.key(key)) for child in CHILDREN}
    return {child: stored for child, stored in found.items() if stored is not None}


def _check_readable(children: Iterable[Object], pods: Iterable[Pod]) -> None:
    found = [*map(why_unreadable, children), *(pod.unreadable for pod in pods)]
    why = next((why for why in found if why is not None), None)
    if why is not None:
        raise UnreadableError(why)


def _holds(pod: Pod, lease: Object) -> bool:
    """Whether the Lease is this pod's: one left by an earlier driver says nothing about this one."""
    holder = (lease.get("spec") or {}).get("holderIdentity") or ""
    return str(holder).startswith(pod.name)


def _reported_at(fleet: Object) -> str | None:
    writers = metadata(fleet).get("managedFields") or []
    times = [writer["time"] for writer in writers if writer.get("manager") == names.DRIVER_MANAGER]
    return max(times, default=None)
