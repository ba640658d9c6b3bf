"""Runs the work for the fleets that are due, a few at a time and never twice at once for one fleet.

``schedule`` decides which fleets are due, and ``fair_queue`` decides which due fleet is next.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Hashable, Mapping
from datetime import timedelta
from typing import Final, Generic, TypeVar

from collectorfleet_operator.edge.fair_queue import FairQueue
from collectorfleet_operator.edge.schedule import Schedule

K = TypeVar("K", bound=Hashable)

# The largest shares of the workers for one tenant: without other tenants, and while another tenant has keys.
_MOST_ALONE: Final = 0.8
_MOST_BESIDE_OTHERS: Final = 0.1


class WorkQueue(Generic[K]):
    """Runs work for each key that is due, at most ``limit`` at a time and never twice at once for one key.

    ``on_failure`` gets each exception of the work with the delay before the next try, in seconds. The exception type
    ``outdated`` means that an object had changed since it was read. Tenants take turns. ``tenant_of`` returns the
    tenant of a key.
    """

    def __init__(
        self,
        on_failure: Callable[[K, Exception, float], None],
        tenant_of: Callable[[K], Hashable],
        limit: int = 20,
        outdated: type[Exception] | None = None,
    ) -> None:
        self._outdated = outdated or ()
        self._on_failure = on_failure
        self._schedule: Schedule[K] = Schedule()
        self._limit = limit
        self._changed = asyncio.Event()
        most = [max(1, int(share * limit)) for share in (_MOST_ALONE, _MOST_BESIDE_OTHERS)]
        self._ready = FairQueue(tenant_of, *most)
        # When each key began to wait for a worker, the longest wait first.
        self._waiting: dict[K, float] = {}
        # When the work on each key began, the longest work first.
        self._working: dict[K, float] = {}

    @property
    def depth(self) -> int:
        """Return the number of keys that wait for a worker."""
        return len(self._waiting)

    @property
    def longest_wait_seconds(self) -> float:
        """Return the longest time that a waiting key has waited for a worker, or 0 if no key waits."""
        return _since_first(self._waiting)

    @property
    def longest_work_seconds(self) -> float:
        """Return how long the longest work has been running, or 0 if no work is running."""
        return _since_first(self._working)

    def add(self, key: K, after: float = 0.0) -> None:
        self._schedule.add(key, _now(), after)
        self._changed.set()

    async def run(self, work: Callable[[K], Awaitable[timedelta | None]]) -> None:
        """Run ``work`` for each key that is due, until cancelled.

        ``work`` returns the time after which its key is due again if no event comes before, or None.
        """
        async with asyncio.TaskGroup() as workers:
            for number in range(self._limit):
                workers.create_task(self._work_on(work), name=f"worker {number}")
            while True:
                for key in self._schedule.take(_now()):
                    self._waiting[key] = _now()
                    self._ready.put(key)
                await self._sleep()

    async def _sleep(self) -> None:
        due = self._schedule.next_due()
        self._changed.clear()
        timeout = None if due is None else max(0.0, due - _now())
        try:
            async with asyncio.timeout(timeout):
                await self._changed.wait()
        except TimeoutError:
            pass

    async def _work_on(self, work: Callable[[K], Awaitable[timedelta | None]]) -> None:
        while True:
            key = await self._ready.get()
            del self._waiting[key]
            self._working[key] = _now()
            try:
                again = await _result_of(work(key))
            except Exception as error:  # noqa: BLE001  (one fleet's failure must not end the others)
                outdated = isinstance(error, self._outdated)
                chance = random.random()  # noqa: S311
                delay = self._schedule.done(key, _now(), failed=True, outdated=outdated, chance=chance)
                self._on_failure(key, error, delay or 0.0)
            else:
                self._schedule.done(key, _now())
                if again is not None:
                    self._schedule.add(key, _now(), again.total_seconds())
            del self._working[key]
            self._ready.done(key)
            self._changed.set()
            # Most work after a restart never blocks. Without this pause, watches and lists would wait until all of this
            # work is done.
            await asyncio.sleep(0)


async def _result_of(work: Awaitable[timedelta | None]) -> timedelta | None:
    """Return the result of ``work``. Raises RuntimeError if the work was cancelled but the worker was not.

    Otherwise the TaskGroup would treat the CancelledError as the end of the worker, and would report nothing.
    """
    try:
        return await work
    except asyncio.CancelledError as error:
        worker = asyncio.current_task()
        if worker is None or worker.cancelling():
            raise
        raise RuntimeError("the work was cancelled, although nothing requested this") from error


def _since_first(began: Mapping[K, float]) -> float:
    first = next(iter(began.values()), None)
    return 0.0 if first is None else _now() - first


def _now() -> float:
    return asyncio.get_running_loop().time()
