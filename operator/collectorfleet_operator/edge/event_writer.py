"""Tells the changes of a fleet as Kubernetes Events, and in the log.

Telling keeps nothing waiting: where Events are not taken, what happened is told at a later look, and the status is
written meanwhile.
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

# For all that one look has to tell: a status waits for it.
PATIENCE_SECONDS: Final = 5.0
# If Events of a namespace are refused, one look in so many seconds tries again for the whole namespace. A limit or a
# webhook may affect one namespace alone.
PAUSE_SECONDS: Final = 30.0
# Of one fleet; the oldest are given up first.
MOST_UNTOLD: Final = 50


class EventWriter:
    """Keeps what is untold for as long as the process lives: of what a status says already, nothing else would tell."""

    def __init__(self, kube: Kube, now: Callable[[], datetime], clock: Callable[[], float] = time.monotonic) -> None:
        self._kube = kube
        self._now = now
        self._clock = clock
        self._untold: dict[Key, dict[str, Object]] = {}  # Events by their names, in the order in which it happened
        self._next_try: dict[str, float] = {}  # of namespaces whose Events are not taken
        self._finds_out = False

    def add(self, key: Key, uid: str, changes: Iterable[Change]) -> None:
        """What is to be told of the fleet with this uid; a change that waits already waits once."""
        for change in changes:
            made = event(key, uid, change, self._now())
            untold = self._untold.setdefault(key, {})
            untold.setdefault(name_of(made), made)
            if len(untold) > MOST_UNTOLD:
                del untold[next(iter(untold))]

    def is_behind(self, key: Key) -> bool:
        """Whether there is something to tell of this fleet."""
        return key in self._untold

    def forget(self, key: Key) -> None:
        self._untold.pop(key, None)

    def forget_others(self, fleets: Collection[Key]) -> None:
        """Those that went while nobody looked."""
        self._untold = {key: untold for key, untold in self._untold.items() if key in fleets}

    async def tell(self, key: Key) -> None:
        """Tell what there is to tell of a fleet, or leave it for a later look; blocks for five seconds at most.

        Raises NotLeadingError.
        """
        untold = self._untold.get(key)
        if not untold or not self._is_to_try(key.namespace):
            return
        finds_out = key.namespace in self._next_try
        self._finds_out |= finds_out
        try:
            await self._try(key, untold)
        finally:
            if finds_out:
                self._finds_out = False

    async def _try(self, key: Key, untold: dict[str, Object]) -> None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                for name, made in list(untold.items()):
                    await self._tell(key, made)
                    del untold[name]
        except NotLeadingError:
            raise
        except UnavailableError as error:
            self._wait(key.namespace, str(error))
        except TimeoutError:
            self._wait(key.namespace, f"no answer within {PATIENCE_SECONDS:g} s")
        else:
            self.forget(key)
            self._go_on(key.namespace)

    async def _tell(self, key: Key, made: Object) -> None:
        reason = made["reason"]
        try:
            await self._kube.create(EVENT, made)
        except ConflictError:
            # Told before.
            return
        except (RefusedError, NotFoundError) as error:
            # In a namespace that is being deleted, for one.
            log.warning("%s: event %s was not written: %s", key, reason, error)
        if reason not in (Reason.CREATED, Reason.DELETED):
            log.info("%s: %s: %s", key, reason, made["message"])

    def _is_to_try(self, namespace: str) -> bool:
        after = self._next_try.get(namespace)
        if after is None:
            return True
        # One at a time: where none is answered, all looks at fleets would wait for it.
        if self._finds_out or self._clock() < after:
            return False
        # The others do not wait for the same answer.
        self._next_try[namespace] = self._clock() + PAUSE_SECONDS
        return True

    def _wait(self, namespace: str, why: str) -> None:
        if namespace not in self._next_try:
            log.warning("the API server refuses Events in namespace %s; they are sent again later: %s", namespace, why)
        self._next_try[namespace] = self._clock() + PAUSE_SECONDS

    def _go_on(self, namespace: str) -> None:
        if self._next_try.pop(namespace, None) is not None:
            log.info("the API server accepts Events in namespace %s again", namespace)
