"""The periodic lists beside the watches.

They detect missed changes and changes of unwatched kinds, and show whether the API server answers.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from typing import Final

from collectorfleet_api import names
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.pod_template import POD
from collectorfleet_operator.children.table import (
    COLLECTORS_CHILD,
    DRIVER_CHILD,
    LEASE_CHILD,
    LISTED,
    LISTED_OFTEN,
    METADATA_ALONE,
    PROVIDERS,
    RAYCLUSTER_CHILD,
)
from collectorfleet_operator.children.timeline import CONFIG_MAP
from collectorfleet_operator.decide.driver_lost import is_driver_lost
from collectorfleet_operator.decide.events import EVENT
from collectorfleet_operator.decide.situation import Warned
from collectorfleet_operator.decide.warnings import (
    WarningsSeen,
    fields_of_event,
    relevant,
    uid_of_subject,
    warnings_seen,
)
from collectorfleet_operator.edge.cache import Cache
from collectorfleet_operator.edge.client import Kube
from collectorfleet_operator.edge.errors import KubeError, NotServedError, RefusedError
from collectorfleet_operator.edge.freshness import Freshness
from collectorfleet_operator.edge.listing import Listing, Unchanged
from collectorfleet_operator.objects import Key, Kind, Object, changed_at

# The work for this number of fleets takes less than two milliseconds.
_FLEETS_AT_A_TIME: Final = 50
# Conditions show the warnings about these children, in addition to the warnings about pods.
_WARNED_ABOUT: Final = (DRIVER_CHILD, RAYCLUSTER_CHILD, COLLECTORS_CHILD)

Concerns = Callable[[Iterable[Key]], None]


class Resync:
    """Lists objects into the cache, and calls ``on_change`` with the fleets to reconcile.

    Every method may raise a KubeError. A namespace that the operator may not list does not affect the lists of other
    namespaces.
    """

    def __init__(
        self,
        kube: Kube,
        cache: Cache,
        freshness: Freshness,
        scopes: Iterable[str | None],
        now: Callable[[], datetime],
        on_change: Concerns,
        provided: Iterable[Kind] = tuple(PROVIDERS),
    ) -> None:
        self._kube = kube
        self._cache = cache
        self._freshness = freshness
        self._scopes = tuple(scopes)
        self._now = now
        self._concerns = on_change
        # The kinds from add-ons, such as KubeRay's, that this operator serves.
        self._provided = tuple(provided)
        self._listings: defaultdict[tuple[Kind, str | None], Listing] = defaultdict(Listing)
        # For each namespace, the kinds that were never listed, because their list was refused. Decisions need complete
        # lists of a namespace.
        self._unlisted: dict[str | None, set[Kind]] = {scope: set() for scope in self._scopes}
        self._listed: set[tuple[Kind, str | None]] = set()
        self._refusals: dict[tuple[Kind, str | None], RefusedError] = {}
        # Fleets whose driver counted as lost when Leases were last listed.
        self._lost: set[Key] = set()
        self.warnings: dict[Key, list[Warned]] = {}
        self._warnings_seen: dict[Key, WarningsSeen] = {}
        self.code_changes: dict[Key, datetime] = {}

    async def list_everything(self) -> set[Kind]:
        """List all kinds. Return the kinds from add-ons that the API server does not serve.

        Raises RefusedError if no namespace has complete lists, and NotServedError if the API server does not serve
        CollectorFleets.
        """
        for step in (self.list_all, self.list_often):
            with contextlib.suppress(RefusedError):
                await step()
        missing = await self.missing_kinds()
        if all(self._unlisted.values()):
            raise next(iter(self._refusals.values()))
        return missing

    def is_listed(self, namespace: str) -> bool:
        """Return whether all kinds of the namespace were listed at least once."""
        return not self._unlisted.get(namespace if namespace in self._unlisted else None)

    def refusal_of(self, kinds: Collection[Kind]) -> RefusedError | None:
        """Return why the newest list of one of these kinds was refused in some namespace, or None."""
        return next((error for (kind, _), error in self._refusals.items() if kind in kinds), None)

    async def list_all(self) -> None:
        """List fleets and Kubernetes' own kinds, without the kinds of :meth:`list_often`.

        Report the fleets with a changed object. Raises NotServedError if the API server does not serve CollectorFleets.
        """
        await self._list_each(kind for kind in LISTED if kind not in (*PROVIDERS, *LISTED_OFTEN))

    async def missing_kinds(self) -> set[Kind]:
        """List the kinds from add-ons. Return the kinds that the API server does not serve.

        A kind whose list is refused counts as served, and :meth:`refusal_of` returns why the list was refused.
        """
        return {kind for kind in self._provided if not await self._is_served(kind)}

    async def list_often(self) -> None:
        """List Leases. Report fleets whose driver is newly lost, or is no longer lost: no event shows this."""
        try:
            await self._list_each(LISTED_OFTEN)
        finally:
            before, self._lost = self._lost, self._fleets_with_lost_driver()
            self._concerns(before ^ self._lost)

    async def list_warnings(self) -> None:
        """List the warnings about children of unready fleets. Report fleets with changed warnings."""
        waiting = {key: fleet for key, fleet in self._cache.summaries().items() if not fleet.is_settled}
        found: dict[Key, list[Warned]] = {}
        refused: RefusedError | None = None
        for namespace in sorted({key.namespace for key in waiting}):
            uids = await self._uids(key for key in waiting if key.namespace == namespace)
            if not uids:
                # For example, all of these fleets wait in a queue and have no objects.
                continue
            try:
                warnings = await self._warnings_about(namespace, uids)
            except RefusedError as error:
                refused = refused or error
                continue
            for number, (key, about) in enumerate(warnings.items()):
                await _yield_to_other_tasks(number)
                found[key] = relevant(about, self._now())
        now_seen = {key: warnings_seen(about, waiting[key].warnings_count_from) for key, about in found.items()}
        changed = {key for key in waiting if now_seen.get(key, []) != self._warnings_seen.get(key, [])}
        self._warnings_seen = now_seen
        self.warnings.clear()
        self.warnings.update(found)
        self._concerns(changed)
        if refused:
            raise refused

    async def read_code_changes(self) -> None:
        """Read when the ConfigMaps with the code of failed fleets last changed. Report fleets with changed code.

        Each ConfigMap is read once, by name. ConfigMaps of other fleets are not read. Raises the first error only after
        all ConfigMaps are read. If a ConfigMap cannot be read, its fleet's earlier time stays unchanged.
        """
        code = {
            key: Key(key.namespace, fleet.code_of_failed)
            for key, fleet in self._cache.summaries().items()
            if fleet.code_of_failed
        }
        changed: dict[Key, datetime | None] = {}
        first: KubeError | None = None
        for config_map in set(code.values()):
            try:
                changed[config_map] = await self._changed(config_map)
            except KubeError as error:
                first = first or error
        times = {key: changed.get(config_map, self.code_changes.get(key)) for key, config_map in code.items()}
        found = {key: at for key, at in times.items() if at is not None}
        news = {key for key, at in found.items() if at != self.code_changes.get(key)}
        self.code_changes.clear()
        self.code_changes.update(found)
        self._concerns(news)
        if first:
            raise first

    async def _uids(self, fleets: Iterable[Key]) -> dict[str, Key]:
        """Map the uids of the fleets' pods, and of the fleets' children that make pods, to the fleets."""
        found: dict[str, Key] = {}
        for number, fleet in enumerate(fleets):
            await _yield_to_other_tasks(number)
            objects = [(POD, pod) for pod in self._cache.keys_of_fleet(POD, fleet)]
            objects += [(child.kind, child.key(fleet)) for child in _WARNED_ABOUT]
            found |= {uid: fleet for kind, name in objects if (uid := self._cache.uid(kind, name))}
        return found

    async def _warnings_about(self, namespace: str, uids: Mapping[str, Key]) -> Mapping[Key, list[Object]]:
        """Return, by fleet, the warning Events about the objects with these uids.

        The Events have only the needed fields.
        """
        found: defaultdict[Key, list[Object]] = defaultdict(list)
        async for event in self._kube.list(EVENT, namespace, Listing(), field="type=Warning"):
            if not isinstance(event, Unchanged) and (fleet := uids.get(uid_of_subject(event))):
                found[fleet].append(fields_of_event(event))
        return found

    async def _changed(self, config_map: Key) -> datetime | None:
        try:
            found = await self._kube.find(CONFIG_MAP, config_map.namespace, config_map.name)
        except RefusedError:
            # The operator lacks the right to read the ConfigMap. This is no error, because the user can start another
            # try in other ways.
            return None
        return changed_at(found) if found is not None else None

    async def _list_each(self, kinds: Iterable[Kind]) -> None:
        """List all kinds, then raise the first refusal, so that one missing right does not stop the other lists."""
        first: RefusedError | None = None
        for kind in kinds:
            try:
                await self._list(kind)
            except RefusedError as error:
                first = first or error
        if first:
            raise first

    async def _list(self, kind: Kind) -> None:
        """List all namespaces, and only then raise the first refusal."""
        first: RefusedError | None = None
        for scope in self._scopes:
            try:
                await self._list_in(kind, scope)
            except RefusedError as error:
                first = first or error
                self._is_refused(kind, scope, error)
            else:
                self._is_allowed(kind, scope)
        if first:
            raise first

    async def _list_in(self, kind: Kind, scope: str | None) -> None:
        label = None if kind == FLEET else names.FLEET_LABEL
        listing, relist = self._listings[kind, scope], self._cache.relist(kind, scope)
        items = self._kube.list(kind, scope, listing, label=label, metadata_alone=kind in METADATA_ALONE)
        async for item in items:
            if isinstance(item, Unchanged):
                relist.keep(item.key)
            else:
                self._concerns(relist.put(item))
        self._concerns(relist.complete(listing.resource_version))
        self._freshness.record_list(kind, scope)
        self._listed.add((kind, scope))

    def _is_refused(self, kind: Kind, scope: str | None, error: RefusedError) -> None:
        self._refusals[kind, scope] = error
        if (kind, scope) not in self._listed:
            self._unlisted[scope].add(kind)
            self._freshness.record_refused_list(kind, scope)

    def _is_allowed(self, kind: Kind, scope: str | None) -> None:
        self._refusals.pop((kind, scope), None)
        if kind in self._unlisted[scope]:
            self._unlisted[scope].remove(kind)
            if not self._unlisted[scope]:
                self._concerns(key for key in self._cache.summaries() if scope in (None, key.namespace))

    async def _is_served(self, kind: Kind) -> bool:
        try:
            await self._list(kind)
        except RefusedError:
            return True
        except NotServedError:
            self._freshness.forget(kind)
            return False
        return True

    def _fleets_with_lost_driver(self) -> set[Key]:
        """Return the fleets whose driver has stopped renewing its Lease."""
        return {
            fleet for fleet, lease in self._cache.leases_unchanged(is_driver_lost) if LEASE_CHILD.key(fleet) == lease
        }


async def _yield_to_other_tasks(number: int) -> None:
    """Let other tasks run, once per 50 fleets: otherwise they would wait for the whole loop."""
    if number % _FLEETS_AT_A_TIME == 0:
        await asyncio.sleep(0)
