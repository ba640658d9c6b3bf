"""How long a request may take before its collector counts as hung. Learned from what requests took so far. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from collectorfleet.recent import LargestOfRecent

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
    _longest: LargestOfRecent = field(default_factory=lambda: LargestOfRecent(_REMEMBERED))

    def took(self, seconds: float) -> None:
        self._longest.note(seconds)

    def allowed(self, *, first: bool) -> float:
        """Seconds from the start of the execution."""
        return max(self.first_floor if first else self.floor, _FACTOR * self._longest.value)
