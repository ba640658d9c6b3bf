"""Reconcile one fleet: observe, plan, carry out, write Events and status, and return when the fleet is due again."""

from __future__ import annotations

import contextlib
import logging
import random
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from collectorfleet_api.v1alpha1 import CollectorFleet, CollectorFleetStatus, ConditionType, OperatorStatus, Reason
from collectorfleet_api.v1alpha1.parse_known import parse_known
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.propagation import NOTHING, Propagation
from collectorfleet_operator.children.table import DRIVER_CHILD, WORKLOAD_CHILD
from collectorfleet_operator.children.workload import NEWEST_KUEUE, KueueVersion
from collectorfleet_operator.decide.another_plan import needs_another_plan
from collectorfleet_operator.decide.error_status import internal_error, invalid
from collectorfleet_operator.decide.events import WARNING, Change, condition_changes, ignored
from collectorfleet_operator.decide.plan import again_after, plan
from collectorfleet_operator.decide.pod import Pod
from collectorfleet_operator.decide.situation import Refused, Situation, Warned
from collectorfleet_operator.decide.status import status
from collectorfleet_operator.decide.unreadable import free_resources
from collectorfleet_operator.decide.workload import Workload
from collectorfleet_operator.edge.cache import Cache
from collectorfleet_operator.edge.client import Kube
from collectorfleet_operator.edge.errors import KubeError, NotFoundError, RefusedError
from collectorfleet_operator.edge.event_writer import EventWriter
from collectorfleet_operator.edge.executor import Executor, Result
from collectorfleet_operator.edge.logs import lines_are_about
from collectorfleet_operator.edge.observe import children_of, observe
from collectorfleet_operator.edge.queue_objects import QueueObjects
from collectorfleet_operator.edge.readings import Readings, problems_of
from collectorfleet_operator.edge.status_writer import StatusWriter
from collectorfleet_operator.objects import Key, Object, is_terminating, metadata, uid_of

log = logging.getLogger(__name__)

# The longest time between two reconciles. If an updated CRD accepts a status field that was left out before, neither an
# event nor a deadline shows this.
_AT_THE_LATEST: Final = timedelta(minutes=20)
# The longest time between two reconciles while the fleet has unwritten Events: no watch event shows that the API server
# accepts Events again.
_WHILE_EVENTS_WAIT: Final = timedelta(minutes=1)
# After this number of successive errors of the operator on one fleet, the fleet's status reports the error.
_REPORTED_AFTER_FAILURES: Final = 3
_NONE: Final[Mapping[Key, Any]] = MappingProxyType({})


class Reconciler:
    def __init__(
        self,
        kube: Kube,
        cache: Cache,
        now: Callable[[], datetime],
        events: EventWriter,
        propagation: Propagation = NOTHING,
        kueue: KueueVersion = NEWEST_KUEUE,
        *,
        kuberay_installed: bool = True,
        why_no_queues: str = "",
        warnings: Mapping[Key, Sequence[Warned]] = _NONE,
        code_changes: Mapping[Key, datetime] = _NONE,
    ) -> None:
        """Create a reconciler. ``why_no_queues``: why no fleet can use a queue, or an empty text if queues can be used.

        ``warnings`` has warnings about the children of unready fleets. ``code_changes`` has, for each failed fleet, the
        time at which its code last changed. The resync updates ``warnings`` and ``code_changes``.
        """
        self._cache = cache
        self._now = now
        self._propagation = propagation
        self._kueue = kueue
        self._executor = Executor(kube, cache)
        self._status = StatusWriter(kube)
        self._events = events
        self._readings = Readings()
        self._queue_objects = QueueObjects(kube, time.monotonic)
        self._logged_refusals: dict[Key, Sequence[Refused]] = {}
        # Uids of the ignored pods for which an Event was written.
        self._ignored: dict[Key, set[str]] = {}
        # The number of successive errors. Errors of the API server do not count.
        self._failures: dict[Key, int] = {}
        # Whether KubeRay is installed, from the session's lists. Without KubeRay, a fleet with Ray gets no children.
        self._kuberay_installed = kuberay_installed
        self._why_no_queues = why_no_queues
        self._warnings = warnings
        self._code_changes = code_changes

    async def reconcile(self, key: Key) -> timedelta | None:
        """Reconcile one fleet. Return the time after which the fleet is due again if no event comes before.

        Return None for a deleted fleet. Raises the error that prevents the reconcile. A repeated error of the operator
        itself is also written into the fleet's status.
        """
        lines_are_about(key)
        try:
            again = await self._reconcile(key)
        except KubeError:
            raise
        except Exception as error:
            self._failures[key] = self._failures.get(key, 0) + 1
            if self._failures[key] >= _REPORTED_AFTER_FAILURES:
                with contextlib.suppress(KubeError):
                    await self._report_failure(key, error)
            raise
        self._failures.pop(key, None)
        return again

    async def _reconcile(self, key: Key) -> timedelta | None:
        stored = self._cache.get(FLEET, key)
        if stored is None:
            self._logged_refusals.pop(key, None)
            self._failures.pop(key, None)
            self._ignored.pop(key, None)
            self._readings.forget(key)
            self._events.forget(key)
            return None
        if is_terminating(stored):
            return None
        found = self._readings.read(stored, partial(self._driver_job, key))
        if found is None:
            await self._report_unreadable(key, stored)
            return _at_the_latest(None)
        return await self._plan_and_execute(key, stored, *found)

    async def _plan_and_execute(
        self, key: Key, stored: Object, fleet: CollectorFleet, wrong: Sequence[str]
    ) -> timedelta | None:
        seen, result = await self._observe(key, stored, fleet, wrong, Result()), Result()
        self._report_ignored(key, stored, seen.ignored_pods)
        planned = plan(seen)
        again = planned.again_after
        if planned.actions:
            result = await self._executor.carry_out(key, planned.actions)
            self._events.add(key, uid_of(stored), result.changes)
            if result.interrupted:
                if result.refused:
                    # No Event: most of these writes succeed at the next try.
                    with contextlib.suppress(KubeError):
                        seen = await self._observe(key, stored, fleet, wrong, result)
                        await self._write_status(key, stored, status(seen))
                raise result.interrupted
            seen = await self._observe(key, stored, fleet, wrong, result)
            again = timedelta(0) if result.has_foreign_changes else again_after(seen)
        if await self._write(key, stored, seen):
            again = timedelta(0)
        self._log_refused(key, result.refused)
        return _at_the_latest(again, _WHILE_EVENTS_WAIT if self._events.is_behind(key) else _AT_THE_LATEST)

    async def _observe(
        self, key: Key, stored: Object, fleet: CollectorFleet, wrong: Sequence[str], result: Result
    ) -> Situation:
        queued = {} if self._why_no_queues else await self._queued(key, fleet)
        return observe(
            self._cache,
            key,
            stored,
            fleet,
            wrong=wrong,
            readings=self._readings,
            kuberay_installed=result.kuberay_installed and self._kuberay_installed,
            propagation=self._propagation,
            refused=result.refused,
            why_no_queues=self._why_no_queues,
            kueue=self._kueue,
            **queued,
            warnings=self._warnings.get(key, ()),
            code_changed_at=self._code_changes.get(key),
            now=self._now(),
        )

    def _driver_job(self, key: Key) -> Object | None:
        return self._cache.get(DRIVER_CHILD.kind, DRIVER_CHILD.key(key))

    async def _queued(self, key: Key, fleet: CollectorFleet) -> dict[str, Any]:
        """Return the objects of Kueue that the fleet refers to, as arguments of :func:`observe`."""
        workload = self._cache.facts(Workload, WORKLOAD_CHILD.key(key))
        flavors = await self._queue_objects.flavors(workload)
        return {"flavors": flavors, "priority_class": await self._queue_objects.priority_class(fleet)}

    async def _write(self, key: Key, stored: Object, seen: Situation) -> bool:
        """Write Events and status. Return whether the new status may lead to another plan."""
        new = status(seen)
        before = seen.fleet.status.conditions if seen.fleet.status else []
        # Events come before the status. A repeated status write does no harm. But if the stored status already has a
        # change, no later reconcile writes an Event about this change.
        self._events.add(key, uid_of(stored), condition_changes(before, new))
        await self._events.write(key)
        try:
            written = await self._write_status(key, stored, new)
        except NotFoundError:
            return False
        return written is not None and needs_another_plan(stored.get("status") or {}, written.get("status") or {})

    async def _report_unreadable(self, key: Key, stored: Object) -> None:
        deletions = tuple(free_resources(children_of(self._cache, key), self._cache.pods_of(key), uid_of(stored)))
        result = await self._executor.carry_out(key, deletions)
        self._events.add(key, uid_of(stored), result.changes)
        if result.interrupted:
            raise result.interrupted
        problems = problems_of(stored)
        before = parse_known(CollectorFleetStatus, stored.get("status") or {})
        new = invalid(problems, before, int(metadata(stored)["generation"]), self._now())
        if await self._write_status(key, stored, new) is not None:
            log.warning("%s: %s: %s", key, Reason.INVALID_SPEC, "; ".join(problems))
        await self._events.write(key)

    async def _report_failure(self, key: Key, error: Exception) -> None:
        stored = self._cache.get(FLEET, key)
        if stored is None:
            return
        before = parse_known(OperatorStatus, stored.get("status") or {})
        cause = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        new = internal_error(cause, before, int(metadata(stored)["generation"]), self._now())
        if new is not None:
            await self._write_status(key, stored, new)

    async def _write_status(self, key: Key, stored: Object, new: OperatorStatus) -> Object | None:
        """Write the status. Return the stored fleet, or None if the status did not change.

        A refused write becomes an Event, and its error is raised.
        """
        try:
            written = await self._status.write(stored, new)
        except RefusedError as error:
            ready = new.condition(ConditionType.READY)
            untold = f"; its condition Ready would be {ready.reason}: {ready.message}" if ready is not None else ""
            identity = f"status refused {new.observed_generation} {ready.reason if ready else ''}"
            change = Change(WARNING, Reason.REFUSED, f"the status is not written: {error.message}{untold}", identity)
            self._events.add(key, uid_of(stored), [change])
            await self._events.write(key)
            raise
        if written is not None:
            self._cache.put(FLEET, written)
        return written

    def _report_ignored(self, key: Key, stored: Object, pods: Sequence[Pod]) -> None:
        if pods or key in self._ignored:
            reported, now = self._ignored.get(key, set()), {pod.uid for pod in pods}
            self._events.add(key, uid_of(stored), [ignored(pod) for pod in pods if pod.uid not in reported])
            self._ignored[key] = now

    def _log_refused(self, key: Key, refused: Sequence[Refused]) -> None:
        if refused and self._logged_refusals.get(key) != refused:
            log.warning("%s: %s", key, refused[0].message)
        self._logged_refusals[key] = refused


def _at_the_latest(wanted: timedelta | None, limit: timedelta = _AT_THE_LATEST) -> timedelta:
    """Return ``wanted``, but at most a random 50 to 100 % of ``limit``.

    The random part spreads a thousand fleets that were reconciled together.
    """
    latest = limit * random.uniform(0.5, 1.0)  # noqa: S311
    return latest if wanted is None else min(wanted, latest)
