"""Track the largest of the last ``count`` numbers, at a cost that does not depend on ``count``. Pure."""

from __future__ import annotations

from collections import deque


class LargestOfRecent:
    """The largest of the last ``count`` numbers that were noted."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._noted = 0
        # (position, number) of each number that is larger than all later numbers. The first number is the largest.
        self._falling: deque[tuple[int, float]] = deque()

    @property
    def value(self) -> float:
        """Return the largest number, or 0 before the first note."""
        return self._falling[0][1] if self._falling else 0.0

    def note(self, number: float) -> None:
        """Add a number, and forget a number that is no longer one of the last ``count``."""
        while self._falling and self._falling[-1][1] <= number:
            self._falling.pop()
        self._falling.append((self._noted, number))
        self._noted += 1
        if self._falling[0][0] < self._noted - self._count:
            self._falling.popleft()
