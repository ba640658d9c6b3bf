"""Tells the changes of a fleet as Kubernetes Events, and in the log."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from collectorfleet_api.v1alpha1 import CollectorFleet, Reason
from collectorfleet_operator.decide.events import EVENT, Change, event
from collectorfleet_operator.edge.client import Kube
from collectorfleet_operator.edge.errors import ConflictError, NotFoundError, RefusedError
from collectorfleet_operator.objects import Key

log = logging.getLogger(__name__)


class Untold:
    """What happened to fleets and was not told yet: the API server may be away when it is to be told."""

    def __init__(self) -> None:
        self._changes: dict[Key, tuple[str | None, list[Change]]] = {}

    def add(self, key: Key, fleet: CollectorFleet, changes: Sequence[Change]) -> None:
        if changes:
            self._changes[key] = (fleet.metadata.uid, [*self.of(key, fleet), *changes])

    def of(self, key: Key, fleet: CollectorFleet) -> list[Change]:
        """Of this very fleet, and of none that had its name before."""
        uid, changes = self._changes.get(key, (None, []))
        return changes if uid == fleet.metadata.uid else []

    def forget(self, key: Key) -> None:
        self._changes.pop(key, None)


class EventWriter:
    def __init__(self, kube: Kube, now: Callable[[], datetime]) -> None:
        self._kube = kube
        self._now = now

    async def tell(self, key: Key, fleet: CollectorFleet, changes: Iterable[Change]) -> None:
        for change in changes:
            await self._tell(key, fleet, change)

    async def _tell(self, key: Key, fleet: CollectorFleet, change: Change) -> None:
        try:
            await self._kube.create(EVENT, event(fleet, change, self._now()))
        except ConflictError:
            # Told before.
            return
        except (RefusedError, NotFoundError) as error:
            # In a namespace that is being deleted, for one.
            log.warning("%s: event %s was not taken: %s", key, change.reason, error)
        if change.reason not in (Reason.CREATED, Reason.DELETED):
            log.info("%s: %s: %s", key, change.reason, change.message)
