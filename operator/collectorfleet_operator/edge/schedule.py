"""Which fleet is looked at next, and when: at once, but never twice at the same time, and not again too soon. Pure.

A key that was quiet is due at once; news that arrive while it is worked on, or right after, are taken together.
A key whose work failed is due again after a delay that doubles. So an API server that returns does not get all keys at
once. Work that met newer objects is no sign of an outage. It begins again at once, with the new objects.

Each step costs what the keys cost that it concerns, however many others there are: due times stand in a heap. One that
was overtaken by a sooner one stays there until its time, or until most of the heap is of that kind.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)

DEBOUNCE_SECONDS: Final = 0.1
# Below it, tidying the heap up is not worth a thought.
_SMALL: Final = 64


@dataclass(frozen=True)
class Backoff:
    """Delays that double from ``first_seconds`` to ``longest_seconds``, less up to a half at random."""

    first_seconds: float = 0.5
    # An outage of minutes must not cost more than this after its end.
    longest_seconds: float = 5.0

    def delay(self, failures: int, chance: float) -> float:
        """Return the delay in seconds after this many failures in a row. ``chance`` is a random number from 0 to 1."""
        full = min(self.first_seconds * 2.0 ** min(failures - 1, 30), self.longest_seconds)
        return full * (1 - chance / 2)


@dataclass(slots=True)
class _Entry:
    due: float | None = None
    running: bool = False
    failures: int = 0
    waits: bool = False  # for its time, whatever the news
    ended: float = float("-inf")

    @property
    def is_idle(self) -> bool:
        return not self.running and self.due is None and not self.failures


@dataclass
class Schedule(Generic[K]):
    """When each key is due. It has no clock: the caller passes the time, in seconds, to every method."""

    debounce_seconds: float = DEBOUNCE_SECONDS
    backoff: Backoff = field(default_factory=Backoff)
    _entries: dict[K, _Entry] = field(default_factory=dict)
    # Due times of keys that nobody works on; the number keeps equal ones in their order, and keys out of comparisons.
    _heap: list[tuple[float, int, K]] = field(default_factory=list)
    _numbers: itertools.count[int] = field(default_factory=itertools.count)
    # What was worked on, and is forgotten once news of it are new news.
    _ended: deque[tuple[float, K]] = field(default_factory=deque)

    def add(self, key: K, now: float, after: float = 0.0) -> None:
        """Make the key due ``after`` seconds from now, or sooner if it is already due sooner."""
        entry = self._entries.setdefault(key, _Entry())
        due = max(now + after, entry.ended + self.debounce_seconds)
        # Work that keeps failing is not hurried by news: most news are echoes of an outage.
        if entry.due is None or (due < entry.due and not entry.waits):
            self._set_due(key, entry, due)

    def take(self, now: float) -> list[K]:
        """Return the keys to work on now. Each key counts as running until :meth:`done`."""
        self._forget(now)
        taken = []
        while (due := self.next_due()) is not None and due <= now:
            key = heapq.heappop(self._heap)[2]
            entry = self._entries[key]
            entry.due, entry.running = None, True
            taken.append(key)
        return taken

    def done(
        self, key: K, now: float, *, failed: bool = False, outdated: bool = False, chance: float = 0.0
    ) -> float | None:
        """Note that the work on the key has ended. Return the delay in seconds before the next try if the work failed.

        ``outdated``: the work failed because an object had changed since it was read.
        """
        entry = self._entries[key]
        entry.running, entry.ended, entry.waits = False, now, failed and not outdated
        if failed:
            entry.failures += 1
            first = self.debounce_seconds if outdated else self.backoff.first_seconds
            due = now + replace(self.backoff, first_seconds=first).delay(entry.failures, chance)
            if outdated and entry.due is not None:
                due = min(due, max(entry.due, now + self.debounce_seconds))
            self._set_due(key, entry, due)
            return due - now
        entry.failures = 0
        if entry.due is not None:
            self._set_due(key, entry, max(entry.due, now + self.debounce_seconds))
        else:
            self._ended.append((now, key))
        return None

    def next_due(self) -> float | None:
        """Return when :meth:`take` next returns a key."""
        while self._heap and not self._holds(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def _set_due(self, key: K, entry: _Entry, due: float) -> None:
        entry.due = due
        # One that is worked on is put into the heap when that is done.
        if not entry.running:
            heapq.heappush(self._heap, (due, next(self._numbers), key))
            if len(self._heap) > max(_SMALL, 2 * len(self._entries)):
                self._heap = list({item[2]: item for item in self._heap if self._holds(item)}.values())
                heapq.heapify(self._heap)

    def _holds(self, item: tuple[float, int, K]) -> bool:
        entry = self._entries.get(item[2])
        return entry is not None and not entry.running and entry.due == item[0]

    def _forget(self, now: float) -> None:
        while self._ended and self._ended[0][0] + self.debounce_seconds <= now:
            at, key = self._ended.popleft()
            entry = self._entries.get(key)
            if entry is not None and entry.is_idle and entry.ended == at:
                del self._entries[key]
