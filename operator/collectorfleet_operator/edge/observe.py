"""From the cache to everything that is known about one fleet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from collectorfleet_api import names
from collectorfleet_api.rules.validation import problems
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.lease import LEASE
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.pod_template import POD
from collectorfleet_operator.children.table import CHILDREN
from collectorfleet_operator.decide.observed import Observed, Refused, Warned
from collectorfleet_operator.edge.cache import Cache
from collectorfleet_operator.objects import Key, Kind, Object, metadata, name_of


def observe(
    cache: Cache,
    key: Key,
    fleet: CollectorFleet,
    *,
    kuberay_installed: bool,
    refused: Sequence[Refused] = (),
    warnings: Sequence[Warned] = (),
) -> Observed:
    seen = Observed(
        fleet=fleet,
        children=children_of(cache, key),
        pods=cache.of_fleet(POD, key),
        problems=[str(problem) for problem in problems(fleet)],
        kuberay_installed=kuberay_installed,
        refused=refused,
        warnings=warnings,
        reported_at=_reported_at(cache.get(FLEET, key)),
    )
    lease, pod = seen.children.get(LEASE), seen.driver_pod
    if lease is not None and pod is not None and _holds(pod, lease):
        return replace(seen, driver_quiet_for=cache.quiet_for(CHILDREN[LEASE].key(key)))
    return seen


def children_of(cache: Cache, key: Key) -> dict[Kind, Object]:
    """What stands under the names of the fleet's children, whoever owns it."""
    found = {kind: cache.get(kind, child.key(key)) for kind, child in CHILDREN.items()}
    return {kind: child for kind, child in found.items() if child is not None}


def _holds(pod: Object, lease: Object) -> bool:
    """Whether the Lease is this pod's: one left by an earlier driver says nothing about this one."""
    holder = (lease.get("spec") or {}).get("holderIdentity") or ""
    return str(holder).startswith(name_of(pod))


def _reported_at(fleet: Object | None) -> str | None:
    writers = metadata(fleet).get("managedFields") or [] if fleet else []
    times = [writer["time"] for writer in writers if writer.get("manager") == names.DRIVER_MANAGER]
    return max(times, default=None)
