"""The time in which the gather thread could receive messages of collectors.

A driver can be stopped by a debugger, a frozen container, or a laptop that sleeps. After the stop all deadlines have
passed, and the answers have not been received yet. The collectors did not cause this delay.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

# The thread reads the clock several times a second. A longer gap counts as this many seconds.
LONGEST_GAP_SECONDS: Final = 10.0


class AwakeClock:
    """Seconds of ``clock``, where a gap between two readings counts at most 10 s. For use by one thread."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._looked_at = clock()
        self._away_seconds = 0.0

    def __call__(self) -> float:
        now = self._clock()
        self._away_seconds += max(0.0, now - self._looked_at - LONGEST_GAP_SECONDS)
        self._looked_at = now
        return now - self._away_seconds
