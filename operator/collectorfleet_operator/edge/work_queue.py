"""Which fleet is looked at next, and when: at once, but never twice at the same time, and not again too soon.

A key that was quiet is due at once; news that arrive while it is worked on, or right after, are taken together.
A key whose work failed is due again after a delay that doubles, so that an API server that comes back is not met by
all keys at once. :class:`Schedule` decides, :class:`WorkQueue` runs.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)

DEBOUNCE_SECONDS: Final = 0.1


@dataclass(frozen=True)
class Backoff:
    """Delays that double from ``first_seconds`` to ``longest_seconds``, less up to a half at random."""

    first_seconds: float = 0.5
    # An outage of minutes must not cost more than this after its end.
    longest_seconds: float = 5.0

    def delay(self, failures: int, chance: float) -> float:
        """Seconds to wait after that many failures in a row; ``chance`` is from 0 to 1."""
        full = min(self.first_seconds * 2.0 ** min(failures - 1, 30), self.longest_seconds)
        return full * (1 - chance / 2)


@dataclass
class _Entry:
    due: float | None = None
    running: bool = False
    failures: int = 0
    ended: float = float("-inf")

    @property
    def is_idle(self) -> bool:
        return not self.running and self.due is None and not self.failures


@dataclass
class Schedule(Generic[K]):
    """When each key is due. Knows no clock: every method is told the time, in seconds."""

    debounce_seconds: float = DEBOUNCE_SECONDS
    backoff: Backoff = field(default_factory=Backoff)
    _entries: dict[K, _Entry] = field(default_factory=dict)

    def add(self, key: K, now: float, after: float = 0.0) -> None:
        """Make the key due ``after`` seconds from now, or sooner if it is already due sooner."""
        entry = self._entries.setdefault(key, _Entry())
        due = max(now + after, entry.ended + self.debounce_seconds)
        # Work that keeps failing is not hurried by news: most news are echoes of an outage.
        if entry.due is None or (due < entry.due and not entry.failures):
            entry.due = due

    def take(self, now: float) -> list[K]:
        """The keys to work on now; each counts as running until :meth:`done`."""
        taken = []
        for key, entry in list(self._entries.items()):
            if entry.is_idle and entry.ended + self.debounce_seconds <= now:
                del self._entries[key]
            elif not entry.running and entry.due is not None and entry.due <= now:
                entry.due, entry.running = None, True
                taken.append(key)
        return taken

    def done(self, key: K, now: float, *, failed: bool = False, chance: float = 0.0) -> float | None:
        """The work on the key has ended. Returns the delay in seconds before the next try if it failed."""
        entry = self._entries[key]
        entry.running, entry.ended = False, now
        if failed:
            entry.failures += 1
            delay = self.backoff.delay(entry.failures, chance)
            entry.due = now + delay
            return delay
        entry.failures = 0
        if entry.due is not None:
            entry.due = max(entry.due, now + self.debounce_seconds)
        return None

    def next_due(self) -> float | None:
        """When :meth:`take` will have something to give."""
        return min((e.due for e in self._entries.values() if e.due is not None and not e.running), default=None)


class WorkQueue(Generic[K]):
    """Runs ``work`` for each key that is due, at most ``limit`` at a time and never twice at once for one key.

    ``work`` returns the time after which it wants to be called again if nothing happens, or None. Whatever it raises is
    given to ``on_failure`` with the delay before the next try, in seconds.
    """

    def __init__(
        self,
        work: Callable[[K], Awaitable[timedelta | None]],
        on_failure: Callable[[K, Exception, float], None],
        limit: int = 16,
    ) -> None:
        self._work = work
        self._on_failure = on_failure
        self._schedule: Schedule[K] = Schedule()
        self._limit = asyncio.Semaphore(limit)
        self._news = asyncio.Event()
        # Since when each key is due that nobody works on yet, the first one first.
        self._waiting: dict[K, float] = {}

    @property
    def depth(self) -> int:
        """How many keys are due and nobody works on yet."""
        return len(self._waiting)

    @property
    def longest_wait_seconds(self) -> float:
        """For how long the first of them has been due; 0 where none is."""
        first = next(iter(self._waiting.values()), None)
        return 0.0 if first is None else _now() - first

    def add(self, key: K, after: float = 0.0) -> None:
        self._schedule.add(key, _now(), after)
        self._news.set()

    async def run(self) -> None:
        """Run until cancelled."""
        async with asyncio.TaskGroup() as running:
            while True:
                for key in self._schedule.take(_now()):
                    self._waiting[key] = _now()
                    running.create_task(self._run(key), name=f"reconcile {key}")
                await self._sleep()

    async def _sleep(self) -> None:
        due = self._schedule.next_due()
        self._news.clear()
        timeout = None if due is None else max(0.0, due - _now())
        try:
            async with asyncio.timeout(timeout):
                await self._news.wait()
        except TimeoutError:
            pass

    async def _run(self, key: K) -> None:
        async with self._limit:
            del self._waiting[key]
            try:
                again = await self._work(key)
            except Exception as error:  # noqa: BLE001  (one fleet's failure must not end the others)
                delay = self._schedule.done(key, _now(), failed=True, chance=random.random())  # noqa: S311
                self._on_failure(key, error, delay or 0.0)
            else:
                self._schedule.done(key, _now())
                if again is not None:
                    self._schedule.add(key, _now(), again.total_seconds())
        self._news.set()


def _now() -> float:
    return asyncio.get_running_loop().time()
