"""How long a request may take before its collector counts as hung. Learned from what requests took so far. Pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

_FACTOR = 5.0
_REMEMBERED = 100


@dataclass
class LearnedDeadline:
    """Five times the longest of the last 100 requests of the fleet, but no less than a floor.

    Args:
        floor: seconds that any request may take.
        first_floor: the same for the first request of a collector, which may compile or download.
    """

    floor: float
    first_floor: float
    # Of the remembered ones those that no later one exceeds, with their numbers: the first is the longest of all.
    _longest: deque[tuple[int, float]] = field(default_factory=deque)
    _number: int = 0

    def took(self, seconds: float) -> None:
        while self._longest and self._longest[-1][1] <= seconds:
            self._longest.pop()
        self._longest.append((self._number, seconds))
        self._number += 1
        if self._longest[0][0] < self._number - _REMEMBERED:
            self._longest.popleft()

    def allowed(self, *, first: bool) -> float:
        """Seconds from the start of the execution."""
        longest = self._longest[0][1] if self._longest else 0.0
        return max(self.first_floor if first else self.floor, _FACTOR * longest)
