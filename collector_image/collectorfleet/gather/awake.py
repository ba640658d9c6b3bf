"""Time in which the gather thread was there to hear what collectors say.

A driver that was stopped (a debugger, a frozen container, a laptop that slept) finds every deadline missed, and every
answer still on its way. No collector is at fault for the delay.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

# The thread comes around several times a second. Of a longer gap no more than this counts.
LONGEST_GAP_SECONDS: Final = 10.0


class AwakeClock:
    """Seconds of ``clock``, of which a long gap between two readings counts in part. For use by one thread."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._looked_at = clock()
        self._away_seconds = 0.0

    def __call__(self) -> float:
        now = self._clock()
        self._away_seconds += max(0.0, now - self._looked_at - LONGEST_GAP_SECONDS)
        self._looked_at = now
        return now - self._away_seconds
