"""Compute the deadline after which a collector counts as hung, from the durations of earlier requests. No I/O."""

from __future__ import annotations

from dataclasses import dataclass, field

from collectorfleet.recent import LargestOfRecent

_FACTOR = 5.0
_REMEMBERED = 100


@dataclass
class LearnedDeadline:
    """A deadline that is five times the longest duration of the last 100 requests, but at least a minimum.

    Args:
        floor: the minimum for every request, in seconds.
        first_floor: the minimum for the first request of a collector, in seconds. This request may compile or download.
    """

    floor: float
    first_floor: float
    _longest: LargestOfRecent = field(default_factory=lambda: LargestOfRecent(_REMEMBERED))

    def note_duration(self, seconds: float) -> None:
        self._longest.note(seconds)

    def allowed(self, *, first: bool) -> float:
        """Return the deadline in seconds from the start of the execution."""
        return max(self.first_floor if first else self.floor, _FACTOR * self._longest.value)
