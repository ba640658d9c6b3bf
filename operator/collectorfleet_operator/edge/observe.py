"""From the cache to everything that is known about one fleet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from collectorfleet_api import names
from collectorfleet_api.rules.validation import problems
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.decide.observed import Observed, Refused, Warned
from collectorfleet_operator.edge.cache import Cache
from collectorfleet_operator.objects import (
    FLEET,
    JOB,
    LEASE,
    POD,
    RAYCLUSTER,
    ROLE,
    ROLE_BINDING,
    SERVICE_ACCOUNT,
    Key,
    Object,
    metadata,
    name_of,
)


def observe(
    cache: Cache,
    key: Key,
    fleet: CollectorFleet,
    *,
    kuberay_installed: bool,
    refused: Sequence[Refused] = (),
    warnings: Sequence[Warned] = (),
) -> Observed:
    driver = Key(key.namespace, names.driver_name(key.name))
    seen = Observed(
        fleet=fleet,
        cluster=cache.get(RAYCLUSTER, key),
        job=cache.get(JOB, driver),
        service_account=cache.get(SERVICE_ACCOUNT, driver),
        role=cache.get(ROLE, driver),
        role_binding=cache.get(ROLE_BINDING, driver),
        lease=cache.get(LEASE, driver),
        pods=cache.of_fleet(POD, key),
        problems=[str(problem) for problem in problems(fleet)],
        kuberay_installed=kuberay_installed,
        refused=refused,
        warnings=warnings,
        reported_at=_reported_at(cache.get(FLEET, key)),
    )
    if seen.lease is not None and seen.driver_pod is not None and _holds(seen.driver_pod, seen.lease):
        return replace(seen, driver_quiet_for=cache.quiet_for(driver))
    return seen


def _holds(pod: Object, lease: Object) -> bool:
    """Whether the Lease is this pod's: one left by an earlier driver says nothing about this one."""
    holder = (lease.get("spec") or {}).get("holderIdentity") or ""
    return str(holder).startswith(name_of(pod))


def _reported_at(fleet: Object | None) -> str | None:
    writers = metadata(fleet).get("managedFields") or [] if fleet else []
    times = [writer["time"] for writer in writers if writer.get("manager") == names.DRIVER_MANAGER]
    return max(times, default=None)
