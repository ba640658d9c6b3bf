"""Decide when the work on a key is due: soon, but never twice at the same time or in quick succession. Pure.

A key is due at once if it was idle. If several events arrive during the work, or right after the work, the key is due
again just once. If the work on a key fails, the key is due again after a delay. The delay doubles with each failure. So
an API server that recovers does not get the requests of all keys at once. A conflict with a newer object is no sign of
an outage, so the work begins again soon with the new object.

Due times are in a heap, so the cost of a step does not grow with the number of other keys. An outdated due time stays
in the heap until its time, or until outdated times make up most of the heap.
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
# A heap of this size is never cleaned up.
_SMALL: Final = 64


@dataclass(frozen=True)
class Backoff:
    """Delays that double from ``first_seconds`` to ``longest_seconds``.

    Each delay is shortened at random by up to half.
    """

    first_seconds: float = 0.5
    # After an outage of minutes, no key waits longer than this.
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
    waits: bool = False  # after a failure, until its due time, even if events arrive
    ended: float = float("-inf")

    @property
    def is_idle(self) -> bool:
        return not self.running and self.due is None and not self.failures


@dataclass
class Schedule(Generic[K]):
    """The due time of each key. It has no clock: the caller passes the time, in seconds, to every method."""

    debounce_seconds: float = DEBOUNCE_SECONDS
    backoff: Backoff = field(default_factory=Backoff)
    _entries: dict[K, _Entry] = field(default_factory=dict)
    # Due times of keys that are not in work. The number puts equal times in order, so that keys are never compared.
    _heap: list[tuple[float, int, K]] = field(default_factory=list)
    _numbers: itertools.count[int] = field(default_factory=itertools.count)
    # Keys whose work has ended. They are dropped after the debounce time.
    _ended: deque[tuple[float, K]] = field(default_factory=deque)

    def add(self, key: K, now: float, after: float = 0.0) -> None:
        """Make the key due ``after`` seconds from now, or sooner if it is already due sooner."""
        entry = self._entries.setdefault(key, _Entry())
        due = max(now + after, entry.ended + self.debounce_seconds)
        # Events do not shorten the delay after a failure: most of them are effects of an outage.
        if entry.due is None or (due < entry.due and not entry.waits):
            self._set_due(key, entry, due)

    def take(self, now: float) -> list[K]:
        """Return the keys whose work is due now. Each key counts as running until :meth:`done`."""
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
        # A key in work is added to the heap after its work.
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
