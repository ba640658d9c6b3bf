"""Writes the changes of a fleet as Kubernetes Events and into the log.

Events do not delay the status: if the API server does not accept Events, a later reconcile writes them.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from typing import Final

from collectorfleet_api.v1alpha1 import Reason
from collectorfleet_operator.decide.events import EVENT, Change, event
from collectorfleet_operator.edge.client import Kube
from collectorfleet_operator.edge.errors import (
    ConflictError,
    NotFoundError,
    NotLeadingError,
    RefusedError,
    UnavailableError,
)
from collectorfleet_operator.objects import Key, Object, name_of

log = logging.getLogger(__name__)

# The limit for all Events of one reconcile, because the status is written after them.
PATIENCE_SECONDS: Final = 5.0
# If the API server does not accept Events of a namespace, one reconcile tries again for the whole namespace after this
# time. A limit or a webhook may affect only one namespace.
PAUSE_SECONDS: Final = 30.0
# The limit for the unwritten Events of one fleet. The oldest Events beyond this number are dropped.
MAX_UNWRITTEN_EVENTS: Final = 50


class EventWriter:
    """The unwritten Events of all fleets.

    These Events survive a session. Otherwise, a change that the stored status already contains would never get its
    Event.
    """

    def __init__(self, kube: Kube, now: Callable[[], datetime], clock: Callable[[], float] = time.monotonic) -> None:
        self._kube = kube
        self._now = now
        self._clock = clock
        self._unwritten: dict[Key, dict[str, Object]] = {}  # Events by name, oldest first
        self._next_try: dict[str, float] = {}  # by namespace, if the API server does not accept the namespace's Events
        self._is_probing = False

    def add(self, key: Key, uid: str, changes: Iterable[Change]) -> None:
        """Queue an Event for each change of the fleet with this uid. An Event that is already queued is not added."""
        for change in changes:
            made = event(key, uid, change, self._now())
            unwritten = self._unwritten.setdefault(key, {})
            unwritten.setdefault(name_of(made), made)
            if len(unwritten) > MAX_UNWRITTEN_EVENTS:
                del unwritten[next(iter(unwritten))]

    def is_behind(self, key: Key) -> bool:
        """Return whether the fleet has unwritten Events."""
        return key in self._unwritten

    def forget(self, key: Key) -> None:
        self._unwritten.pop(key, None)

    def forget_others(self, fleets: Collection[Key]) -> None:
        """Drop the Events of fleets that are not in ``fleets``, because they were deleted between two sessions."""
        self._unwritten = {key: unwritten for key, unwritten in self._unwritten.items() if key in fleets}

    async def write(self, key: Key) -> None:
        """Write the queued Events of a fleet, or leave them for a later reconcile. Block for five seconds at most.

        Raises NotLeadingError if this operator no longer holds its Lease.
        """
        unwritten = self._unwritten.get(key)
        if not unwritten or not self._may_try(key.namespace):
            return
        is_probe = key.namespace in self._next_try
        self._is_probing |= is_probe
        try:
            await self._try(key, unwritten)
        finally:
            if is_probe:
                self._is_probing = False

    async def _try(self, key: Key, unwritten: dict[str, Object]) -> None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                for name, made in list(unwritten.items()):
                    await self._create(key, made)
                    del unwritten[name]
        except NotLeadingError:
            raise
        except UnavailableError as error:
            self._wait(key.namespace, str(error))
        except TimeoutError:
            self._wait(key.namespace, f"no answer within {PATIENCE_SECONDS:g} s")
        else:
            self.forget(key)
            self._resume(key.namespace)

    async def _create(self, key: Key, made: Object) -> None:
        reason = made["reason"]
        try:
            await self._kube.create(EVENT, made)
        except ConflictError:
            # The Event exists already.
            return
        except (RefusedError, NotFoundError) as error:
            # For example, the namespace is being deleted.
            log.warning("%s: event %s was not written: %s", key, reason, error)
        if reason not in (Reason.CREATED, Reason.DELETED):
            log.info("%s: %s: %s", key, reason, made["message"])

    def _may_try(self, namespace: str) -> bool:
        after = self._next_try.get(namespace)
        if after is None:
            return True
        # Only one reconcile at a time tries again. Otherwise all reconciles would wait for an API server that does not
        # answer.
        if self._is_probing or self._clock() < after:
            return False
        # During this try, other reconciles of the namespace send no Events.
        self._next_try[namespace] = self._clock() + PAUSE_SECONDS
        return True

    def _wait(self, namespace: str, why: str) -> None:
        if namespace not in self._next_try:
            log.warning("the API server refuses Events in namespace %s; they are sent again later: %s", namespace, why)
        self._next_try[namespace] = self._clock() + PAUSE_SECONDS

    def _resume(self, namespace: str) -> None:
        if self._next_try.pop(namespace, None) is not None:
            log.info("the API server accepts Events in namespace %s again", namespace)
