"""A session of the operator: complete lists first, then watches, reconciles and periodic lists concurrently.

The complete lists come first, so that no decision depends on a partial list. A session ends when the kinds to watch
change, for example after an installation of KubeRay, or when kopf cannot continue. All tasks of a session end with the
session.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterable
from datetime import timedelta
from functools import partial

from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.children.table import PROVIDERS, WATCHED
from collectorfleet_operator.children.workload import KUEUE, WORKLOAD
from collectorfleet_operator.edge.cache import Cache
from collectorfleet_operator.edge.errors import (
    ConflictError,
    KubeError,
    NotServedError,
    RefusedError,
    UnavailableError,
)
from collectorfleet_operator.edge.metrics.state import State
from collectorfleet_operator.edge.process import Process, stop_on_signals
from collectorfleet_operator.edge.reconcile import Reconciler
from collectorfleet_operator.edge.resync import Resync
from collectorfleet_operator.edge.served_kueue import why_no_queues
from collectorfleet_operator.edge.task_end import end_all
from collectorfleet_operator.edge.ticks import (
    TICK_SECONDS,
    TICKS_PER_FULL_LIST,
    Step,
    Ticks,
    retry_seconds,
)
from collectorfleet_operator.edge.watch import watch
from collectorfleet_operator.edge.work_queue import WorkQueue
from collectorfleet_operator.objects import Key, Kind, Object

log = logging.getLogger(__name__)


class Session:
    """The cache, the queue and the watches of one session."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._health = process.health
        self._stop = process.stop
        self._cache = Cache(time.monotonic)
        settings = process.settings
        self._unserved = set() if settings.queues else {WORKLOAD}
        provided = [kind for kind in PROVIDERS if kind not in self._unserved]
        self._kueue = process.kueue.version
        self._kube = process.kube.in_versions({KUEUE: self._kueue})
        self._queue: WorkQueue[Key] = WorkQueue(_log_failure, _tenant_of, outdated=ConflictError)
        self._resync = Resync(
            self._kube, self._cache, process.freshness, settings.scopes, process.now, self._look_at, provided
        )
        self._over = asyncio.Event()
        # Set when a watch begins, because the watch does not deliver earlier changes.
        self._watch_began = asyncio.Event()

    async def run(self) -> None:
        """Run until the process must stop or the next session must begin. Raises TasksHang."""
        missing = await self._first_lists()
        if missing is None:
            return
        self._process.events.forget_others(self._cache.summaries())
        _log_missing(missing)
        kinds = [kind for kind in WATCHED if kind not in missing | self._unserved]
        for kind in kinds:
            self._process.freshness.record_event(kind)
        reconcile = self._process.instruments.timed(partial(self._reconcile, self._reconciler(missing)))
        watching = asyncio.create_task(self._watch(kinds), name="watch")
        tasks = [
            watching,
            asyncio.create_task(self._queue.run(reconcile), name="queue"),
            asyncio.create_task(self._ticks(missing).run(), name="resync"),
            asyncio.create_task(self._stop.wait(), name="stop"),
            asyncio.create_task(self._look_at_code(), name="code"),
            asyncio.create_task(self._warnings().run(), name="warnings"),
        ]
        try:
            self._process.instruments.begin_serving(self._state)
            self._health.begin_work(lambda: self._queue.longest_work_seconds)
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._process.instruments.end_serving()
            self._health.end_work()
            self._over.set()
            await end_all(tasks)
        for task in done:
            task.result()
        # While kopf starts, kopf handles signals itself, and returns after a signal.
        if watching in done:
            self._stop.set()

    def _reconciler(self, missing: set[Kind]) -> Reconciler:
        return Reconciler(
            self._kube,
            self._cache,
            self._process.now,
            self._process.events,
            propagation=self._process.settings.propagation,
            kueue=self._kueue,
            kuberay_installed=RAYCLUSTER not in missing,
            why_no_queues=why_no_queues(missing, self._unserved),
            warnings=self._resync.warnings,
            code_changes=self._resync.code_changes,
        )

    async def _first_lists(self) -> set[Kind] | None:
        """Fill the cache and queue every fleet. Return the kinds that the API server does not serve.

        Return None if the process must stop before the lists succeed, or if the next session must begin instead.
        """
        logged, refused = "", 0
        while not self._stop.is_set():
            try:
                if await self._kueue_has_changed():
                    return None
                missing = await self._resync.list_everything()
            except KubeError as error:
                if not isinstance(error, UnavailableError):
                    # The API server answers, so a restart of this process would not help.
                    self._health.record_answer()
                text = f"no {FLEET.full_name}: apply the CRD" if isinstance(error, NotServedError) else str(error)
                if text != logged:
                    log.warning("waiting: %s", text)
                    logged = text
                # Only refusals increase the delay: after a refusal, a try still repeats all other lists. Any other
                # error ends the try at once.
                refused = refused + 1 if isinstance(error, RefusedError) else 0
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stop.wait(), retry_seconds(max(1, refused)))
            else:
                self._health.begin_serving()
                return missing
        return None

    def _ticks(self, missing: set[Kind]) -> Ticks:
        steps = [
            Step(self._resync.list_often),
            Step(self._resync.list_all, TICKS_PER_FULL_LIST),
            Step(self._process.kueue.has_changed, TICKS_PER_FULL_LIST),
            # If KubeRay is missing, list at each tick, because fleets wait for KubeRay.
            Step(partial(self._served_kinds_changed, missing), 1 if RAYCLUSTER in missing else TICKS_PER_FULL_LIST),
        ]
        return Ticks(steps, self._health.record_answer, self._watch_began)

    def _warnings(self) -> Ticks:
        """Return the periodic list of warnings.

        This list is separate, so that no other list and no health check waits for it.
        """
        return Ticks([Step(self._resync.list_warnings, 2)], lambda: None, asyncio.Event())

    async def _look_at_code(self) -> None:
        """Read the code's ConfigMaps as often as the complete lists run.

        This step is separate, because each ConfigMap needs a separate request.
        """
        logged = ""
        while True:
            try:
                await self._resync.read_code_changes()
            except KubeError as error:
                if str(error) != logged:
                    log.warning("cannot read the code of a failed fleet: %s", error)
                logged = str(error)
            else:
                logged = ""
            await asyncio.sleep(TICKS_PER_FULL_LIST * TICK_SECONDS)

    async def _served_kinds_changed(self, missing: set[Kind]) -> bool:
        now_missing = await self._resync.missing_kinds()
        for kind in now_missing ^ missing:
            log.info("%s %s", kind.full_name, "is no longer served" if kind in now_missing else "is served now")
        refusal = self._resync.refusal_of(PROVIDERS)
        if refusal is not None and now_missing == missing:
            raise refusal
        return now_missing != missing

    async def _kueue_has_changed(self) -> bool:
        """Return whether the version of Kueue has changed, or False if the API server refuses the request.

        The periodic lists log the refusal. Fleets without a queue do not need Kueue.
        """
        with contextlib.suppress(RefusedError):
            return await self._process.kueue.has_changed()
        return False

    async def _watch(self, kinds: Iterable[Kind]) -> None:
        process = self._process
        take_signals = partial(stop_on_signals, process.stop)
        await watch(
            {kind: self._kube.as_served(kind) for kind in kinds},
            process.settings,
            self._take_news,
            self._take_beginning,
            self._over,
            process.trace,
            take_signals,
        )

    def _take_news(self, kind: Kind, event: str | None, obj: Object) -> None:
        self._process.freshness.record_event(kind)
        take = self._cache.remove if event == "DELETED" else self._cache.put
        self._look_at(take(kind, obj))

    def _take_beginning(self, resource: str) -> None:
        for kind in WATCHED:
            if kind.full_name == resource:
                self._process.freshness.record_event(kind)
        self._watch_began.set()

    def _look_at(self, fleets: Iterable[Key]) -> None:
        for key in fleets:
            self._queue.add(key)

    async def _reconcile(self, reconciler: Reconciler, key: Key) -> timedelta | None:
        if not self._resync.is_listed(key.namespace):
            # The resync queues the fleets of the namespace again once all lists of the namespace are complete.
            return None
        return await reconciler.reconcile(key)

    def _state(self) -> State:
        return State(
            waiting=self._queue.depth,
            longest_wait_seconds=self._queue.longest_wait_seconds,
            list_ages=self._process.freshness.list_ages(),
            watch_ages=self._process.freshness.watch_ages(),
            fleets=self._cache.summaries(),
        )


def _tenant_of(key: Key) -> str:
    return key.namespace


def _log_missing(missing: Iterable[Kind]) -> None:
    for kind in missing:
        waiting = "fleets with a queue" if kind == WORKLOAD else "fleets in Ray"
        what = (kind.full_name, waiting, PROVIDERS[kind])
        log.warning("no %s in this Kubernetes: %s wait until %s is installed", *what)


def _log_failure(key: Key, error: Exception, delay_seconds: float) -> None:
    if isinstance(error, KubeError):
        log.info("%s: %s; trying again in %.1f s", key, error, delay_seconds)
    else:
        log.error("%s: trying again in %.1f s", key, delay_seconds, exc_info=error)
