"""The largest of the last so many numbers, at a cost that does not depend on how many. Pure."""

from __future__ import annotations

from collections import deque


class LargestOfRecent:
    """Of the last ``count`` numbers that were noted."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._noted = 0
        # Those that no later one exceeds, with their places: the first is the largest of all.
        self._falling: deque[tuple[int, float]] = deque()

    @property
    def value(self) -> float:
        """0 before the first."""
        return self._falling[0][1] if self._falling else 0.0

    def note(self, number: float) -> None:
        while self._falling and self._falling[-1][1] <= number:
            self._falling.pop()
        self._falling.append((self._noted, number))
        self._noted += 1
        if self._falling[0][0] < self._noted - self._count:
            self._falling.popleft()
