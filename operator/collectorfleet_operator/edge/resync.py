"""The periodic lists behind the watches: what they missed, what nobody watches, and the sign that the API answers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import ConditionType, Reason
from collectorfleet_operator.decide.conditions.driver import LOST_AFTER
from collectorfleet_operator.decide.observed import Warned
from collectorfleet_operator.decide.warnings import relevant
from collectorfleet_operator.edge.cache import Cache
from collectorfleet_operator.edge.client import Kube
from collectorfleet_operator.edge.errors import NotServedError
from collectorfleet_operator.objects import (
    EVENT,
    FLEET,
    JOB,
    LEASE,
    POD,
    RAYCLUSTER,
    ROLE,
    ROLE_BINDING,
    SERVICE_ACCOUNT,
    Key,
    Kind,
    Object,
    uid_of,
)

log = logging.getLogger(__name__)

# Leases and health, and how soon an API server that is back is noticed.
TICK_SECONDS: Final = 5.0
# All of it.
TICKS_PER_FULL_LIST: Final = 6

_LISTED: Final = (FLEET, JOB, POD, LEASE, SERVICE_ACCOUNT, ROLE, ROLE_BINDING)


class Resync:
    """Lists into the cache. Every method returns the fleets to look at again, and raises a KubeError."""

    def __init__(self, kube: Kube, cache: Cache, scopes: Iterable[str | None], now: Callable[[], datetime]) -> None:
        self._kube = kube
        self._cache = cache
        self._scopes = tuple(scopes)
        self._now = now
        self._quiet: set[Key] = set()
        self.warnings: dict[Key, list[Warned]] = {}

    async def full(self) -> set[Key]:
        """Everything; NotServedError if there are no CollectorFleets in this Kubernetes."""
        for kind in _LISTED:
            await self._list(kind)
        if not await self.has_kuberay():
            log.debug("no %s", RAYCLUSTER.full_name)
        # Whatever was missed, every fleet is looked at.
        return set(self._cache.fleets())

    async def has_kuberay(self) -> bool:
        """List the RayClusters; whether there is such a kind."""
        try:
            await self._list(RAYCLUSTER)
        except NotServedError:
            return False
        return True

    async def quiet_drivers(self) -> set[Key]:
        """Fleets whose driver began or ceased to be quiet for too long."""
        await self._list(LEASE)
        quiet = {key for key in self._cache.fleets() if self._is_quiet(key)}
        changed, self._quiet = quiet ^ self._quiet, quiet
        return changed

    async def warned(self) -> set[Key]:
        """Fleets that are not ready and about whose children there is another warning than before."""
        waiting = {key for key in self._cache.fleets() if not _is_settled(self._cache.get(FLEET, key))}
        found: dict[Key, list[Warned]] = {}
        for namespace in sorted({key.namespace for key in waiting}):
            events = (await self._kube.list(EVENT, namespace, field="type=Warning")).items
            for key in waiting:
                if key.namespace == namespace:
                    found[key] = relevant(events, self._uids(key), self._now())
        changed = {key for key in waiting if found[key] != self.warnings.get(key, [])}
        self.warnings.clear()
        self.warnings.update(found)
        return changed

    async def _list(self, kind: Kind) -> set[Key]:
        label = None if kind is FLEET else names.FLEET_LABEL
        concerned: set[Key] = set()
        for scope in self._scopes:
            listed = await self._kube.list(kind, scope, label=label)
            concerned |= self._cache.replace(kind, scope, listed.items, listed.resource_version)
        return concerned

    def _is_quiet(self, key: Key) -> bool:
        quiet_for = self._cache.quiet_for(Key(key.namespace, names.driver_name(key.name)))
        return quiet_for is not None and quiet_for > LOST_AFTER

    def _uids(self, key: Key) -> set[str]:
        cluster = self._cache.get(RAYCLUSTER, key)
        job = self._cache.get(JOB, Key(key.namespace, names.driver_name(key.name)))
        children = [*self._cache.of_fleet(POD, key), *(one for one in (cluster, job) if one)]
        return {uid_of(child) for child in children}


def _is_settled(fleet: Object | None) -> bool:
    """Ready, or over: nothing that a warning could explain."""
    found = {one["type"]: one for one in ((fleet or {}).get("status") or {}).get("conditions") or []}
    if found.get(ConditionType.READY, {}).get("status") == "True":
        return True
    return bool(found.get(ConditionType.COMPLETED, {}).get("reason") == Reason.FAILED)
