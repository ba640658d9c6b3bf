"""The periodic lists behind the watches: what they missed, what nobody watches, and the sign that the API answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import ConditionType, Reason
from collectorfleet_operator.children.lease import LEASE
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.pod_template import POD
from collectorfleet_operator.children.table import CHILDREN, LISTED, LISTED_OFTEN, METADATA_ALONE, PROVIDERS
from collectorfleet_operator.children.timeline import CONFIG_MAP
from collectorfleet_operator.decide.events import EVENT
from collectorfleet_operator.decide.lost import is_lost
from collectorfleet_operator.decide.observed import Warned
from collectorfleet_operator.decide.warnings import relevant
from collectorfleet_operator.edge.cache import Cache
from collectorfleet_operator.edge.client import Kube
from collectorfleet_operator.edge.errors import NotServedError, RefusedError
from collectorfleet_operator.edge.freshness import Freshness
from collectorfleet_operator.edge.observe import children_of
from collectorfleet_operator.objects import Key, Kind, Object, changed_at, uid_of

_FAILED: Final = (Reason.FAILED, Reason.DEADLINE_EXCEEDED)

# Leases and health, and how soon an API server that is back is noticed.
TICK_SECONDS: Final = 5.0
# All of it.
TICKS_PER_FULL_LIST: Final = 6


class Resync:
    """Lists into the cache. Every method returns the fleets to look at again, and raises a KubeError."""

    def __init__(
        self,
        kube: Kube,
        cache: Cache,
        freshness: Freshness,
        scopes: Iterable[str | None],
        now: Callable[[], datetime],
    ) -> None:
        self._kube = kube
        self._cache = cache
        self._freshness = freshness
        self._scopes = tuple(scopes)
        self._now = now
        self.warnings: dict[Key, list[Warned]] = {}
        self.code_changes: dict[Key, datetime] = {}

    async def list_all(self) -> set[Key]:
        """All that is ours or Kubernetes' own; NotServedError if there are no CollectorFleets in this Kubernetes."""
        await self._list_each(kind for kind in LISTED if kind not in PROVIDERS)
        # Whatever was missed, every fleet is looked at.
        return set(self._cache.fleets())

    async def missing_kinds(self) -> set[Kind]:
        """List the kinds that somebody else brings; those that are not served."""
        return {kind for kind in PROVIDERS if not await self._is_served(kind)}

    async def list_often(self) -> set[Key]:
        """Fleets whose driver counted as lost and renewed its Lease.

        That a driver is lost is no news: a fleet is looked at again when it would be.
        """
        lost = self._lost()
        await self._list_each(LISTED_OFTEN)
        return lost - self._lost()

    async def newly_warned(self) -> set[Key]:
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

    async def look_at_code(self) -> set[Key]:
        """When the ConfigMaps of fleets that failed last changed: by name, and of no other fleet."""
        found: dict[Key, datetime] = {}
        for key in self._cache.fleets():
            name = _code_of_failed(self._cache.get(FLEET, key))
            changed = await self._changed(key.namespace, name) if name else None
            if changed is not None:
                found[key] = changed
        concerned = {key for key, changed in found.items() if changed != self.code_changes.get(key)}
        self.code_changes.clear()
        self.code_changes.update(found)
        return concerned

    async def _changed(self, namespace: str, config_map: str) -> datetime | None:
        try:
            found = await self._kube.find(CONFIG_MAP, namespace, config_map)
        except RefusedError:
            # Not told: whoever may not be read is no reason to try again, and there are other ways.
            return None
        return changed_at(found) if found is not None else None

    async def _list_each(self, kinds: Iterable[Kind]) -> None:
        """List all of them, and only then raise the first refusal: a right that is missing makes nothing else old."""
        first: RefusedError | None = None
        for kind in kinds:
            try:
                await self._list(kind)
            except RefusedError as error:
                first = first or error
        if first:
            raise first

    async def _list(self, kind: Kind) -> set[Key]:
        label = None if kind == FLEET else names.FLEET_LABEL
        concerned: set[Key] = set()
        for scope in self._scopes:
            listed = await self._kube.list(kind, scope, label=label, metadata_alone=kind in METADATA_ALONE)
            concerned |= self._cache.replace(kind, scope, listed.items, listed.resource_version)
            self._freshness.listed(kind, scope)
        return concerned

    async def _is_served(self, kind: Kind) -> bool:
        try:
            await self._list(kind)
        except NotServedError:
            self._freshness.not_served(kind)
            return False
        return True

    def _lost(self) -> set[Key]:
        lease = CHILDREN[LEASE]
        return {key for key in self._cache.fleets() if is_lost(self._cache.quiet_for(lease.key(key)))}

    def _uids(self, key: Key) -> set[str]:
        children = (*self._cache.of_fleet(POD, key), *children_of(self._cache, key).values())
        return {uid_of(child) for child in children}


def _code_of_failed(fleet: Object | None) -> str | None:
    """Name of the ConfigMap with the code of a fleet that failed; None if it did not, or has none."""
    conditions = ((fleet or {}).get("status") or {}).get("conditions") or []
    failed = any(one["type"] == ConditionType.COMPLETED and one["reason"] in _FAILED for one in conditions)
    code = ((fleet or {}).get("spec") or {}).get("code") or {}
    return code.get("configMap") if failed else None


def _is_settled(fleet: Object | None) -> bool:
    """Ready, suspended or over: nothing that a warning could explain."""
    found = {one["type"]: one for one in ((fleet or {}).get("status") or {}).get("conditions") or []}
    if found.get(ConditionType.READY, {}).get("status") == "True":
        return True
    return found.get(ConditionType.COMPLETED, {}).get("reason") not in (None, Reason.RUNNING)
