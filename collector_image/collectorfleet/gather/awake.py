"""Measure the time in which the gather thread was able to receive messages from collectors.

A debugger, a frozen container or a sleeping laptop can stop the driver process for some time. After such a stop, all
deadlines have passed, and the driver has not yet received the collectors' answers. But the collectors did not cause the
delay, so the deadlines count at most 10 s of such a stop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

# The thread reads the clock several times per second. A gap between two readings counts as at most this number of
# seconds.
LONGEST_GAP_SECONDS: Final = 10.0


class AwakeClock:
    """A clock that follows ``clock``, but counts a gap between two readings as at most 10 s. Times are in seconds.

    Only one thread may call the clock.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._looked_at = clock()
        self._away_seconds = 0.0

    def __call__(self) -> float:
        now = self._clock()
        self._away_seconds += max(0.0, now - self._looked_at - LONGEST_GAP_SECONDS)
        self._looked_at = now
        return now - self._away_seconds
