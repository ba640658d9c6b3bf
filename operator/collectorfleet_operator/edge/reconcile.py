"""One look at one fleet: observe, plan, carry out, write the status, tell what happened, say when to look again."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from collectorfleet_api.v1alpha1 import CollectorFleet, CollectorFleetStatus, Reason
from collectorfleet_api.v1alpha1.understood import understood
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.propagation import NOTHING, Propagation
from collectorfleet_operator.children.table import WORKLOAD_CHILD
from collectorfleet_operator.decide.acted_on import says_what_to_do
from collectorfleet_operator.decide.events import story
from collectorfleet_operator.decide.observed import Observed, Refused, Warned
from collectorfleet_operator.decide.plan import again_after, plan
from collectorfleet_operator.decide.status import invalid, status
from collectorfleet_operator.edge.cache import Cache
from collectorfleet_operator.edge.client import Kube
from collectorfleet_operator.edge.errors import NotFoundError
from collectorfleet_operator.edge.event_writer import EventWriter
from collectorfleet_operator.edge.executor import Executor, Result
from collectorfleet_operator.edge.logs import lines_are_about
from collectorfleet_operator.edge.observe import observe, problems_of, read
from collectorfleet_operator.edge.queue_objects import QueueObjects
from collectorfleet_operator.edge.status_writer import StatusWriter
from collectorfleet_operator.objects import Key, Object, is_terminating, metadata

log = logging.getLogger(__name__)

# What neither an event nor a deadline tells: the CRD was updated, and takes a field that was left out of the status.
_AT_THE_LATEST: Final = timedelta(minutes=20)
# Nor that Events are taken again.
_WHILE_UNTOLD: Final = timedelta(minutes=1)


class Reconciler:
    def __init__(
        self,
        kube: Kube,
        cache: Cache,
        now: Callable[[], datetime],
        events: EventWriter,
        propagation: Propagation = NOTHING,
    ) -> None:
        self._cache = cache
        self._now = now
        self._propagation = propagation
        self._executor = Executor(kube, cache)
        self._status = StatusWriter(kube)
        self._events = events
        self._queue_objects = QueueObjects(kube, time.monotonic)
        self._said: dict[Key, Sequence[Refused]] = {}
        # As the lists found it: nothing of a fleet is made before there is a KubeRay.
        self.kuberay_is_missing = False
        # Why no fleet can wait in a queue; empty if it can.
        self.why_no_queues = ""
        # About children of fleets that are not ready; kept up to date by the resync.
        self.warnings: dict[Key, list[Warned]] = {}
        # Of fleets that failed; the same.
        self.code_changes: dict[Key, datetime] = {}

    async def reconcile(self, key: Key) -> timedelta | None:
        """Bring one fleet a step on. Returns after which time to look again if nothing happens until then."""
        lines_are_about(key)
        stored = self._cache.get(FLEET, key)
        if stored is None:
            self.warnings.pop(key, None)
            self._said.pop(key, None)
            self._events.forget(key)
            return None
        if is_terminating(stored):
            return None
        found = read(self._cache, key, stored)
        if found is None:
            await self._say_unreadable(key, stored)
            return _at_the_latest(None)
        return await self._bring_on(key, stored, *found)

    async def _bring_on(
        self, key: Key, stored: Object, fleet: CollectorFleet, wrong: Sequence[str]
    ) -> timedelta | None:
        seen, result = await self._observe(key, stored, fleet, wrong, Result()), Result()
        planned = plan(seen, self._now())
        again = planned.again_after
        if planned.actions:
            result = await self._executor.carry_out(key, planned.actions)
            self._events.add(key, fleet, result.changes)
            if result.interrupted:
                raise result.interrupted
            seen = await self._observe(key, stored, fleet, wrong, result)
            again = timedelta(0) if result.news else again_after(seen, self._now())
        if await self._write(key, stored, seen):
            again = timedelta(0)
        self._log_refused(key, result.refused)
        return _at_the_latest(again, _WHILE_UNTOLD if self._events.is_behind(key) else _AT_THE_LATEST)

    async def _observe(
        self, key: Key, stored: Object, fleet: CollectorFleet, wrong: Sequence[str], result: Result
    ) -> Observed:
        queued = {} if self.why_no_queues else await self._queued(key, fleet)
        return observe(
            self._cache,
            key,
            stored,
            fleet,
            wrong=wrong,
            kuberay_installed=result.kuberay_installed and not self.kuberay_is_missing,
            propagation=self._propagation,
            refused=result.refused,
            why_no_queues=self.why_no_queues,
            **queued,
            warnings=self.warnings.get(key, ()),
            code_changed_at=self.code_changes.get(key),
            now=self._now(),
        )

    async def _queued(self, key: Key, fleet: CollectorFleet) -> dict[str, Any]:
        """What of Kueue's a fleet with a queue refers to."""
        workload = self._cache.get(WORKLOAD_CHILD.kind, WORKLOAD_CHILD.key(key))
        flavors = await self._queue_objects.flavors(workload)
        return {"flavors": flavors, "priority_class": await self._queue_objects.priority_class(fleet)}

    async def _write(self, key: Key, stored: Object, seen: Observed) -> bool:
        """Whether the status says something now that is to be carried out."""
        new = status(seen, self._now())
        before = seen.fleet.status.conditions if seen.fleet.status else []
        # Told before it is written, if it can be: a status that is written twice is one, a change that nobody saw is
        # never told.
        self._events.add(key, seen.fleet, story(before, new))
        await self._events.tell(key)
        try:
            written = await self._status.write(stored, new)
        except NotFoundError:
            return False
        if written is None:
            return False
        self._cache.put(FLEET, written)
        return says_what_to_do(stored.get("status") or {}, written.get("status") or {})

    async def _say_unreadable(self, key: Key, stored: Object) -> None:
        problems = problems_of(stored)
        before = understood(CollectorFleetStatus, stored.get("status") or {})
        new = invalid(problems, before, int(metadata(stored)["generation"]), self._now())
        written = await self._status.write(stored, new)
        if written is not None:
            log.warning("%s: %s: %s", key, Reason.INVALID_SPEC, "; ".join(problems))
            self._cache.put(FLEET, written)

    def _log_refused(self, key: Key, refused: Sequence[Refused]) -> None:
        if refused and self._said.get(key) != refused:
            log.warning("%s: %s", key, refused[0].message)
        self._said[key] = refused


def _at_the_latest(wanted: timedelta | None, limit: timedelta = _AT_THE_LATEST) -> timedelta:
    """At random, so that a thousand fleets that were looked at together are not again."""
    latest = limit * random.uniform(0.5, 1.0)  # noqa: S311
    return latest if wanted is None else min(wanted, latest)
