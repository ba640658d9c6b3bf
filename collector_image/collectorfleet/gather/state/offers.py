"""How many offers of weights go out in a second.

A request takes the newest weights along to a collector that was not offered them, so an offer is for those that work or
wait meanwhile. Offer and acknowledgement cost the driver about 200 µs, in a process where somebody trains: a fleet of
hundreds with an update after each batch cannot be offered every version everywhere. Who begins its next rollout first
comes first, and then who was offered a version longest ago; see :meth:`~.collectors.Collectors.next_to_offer`.
"""

from __future__ import annotations

from typing import Final

# A tenth of a core at most: 4 collectors get a hundred versions a second each, 512 of them one, or the newest in time.
PER_SECOND: Final = 400.0
# What a fleet gets at once, after a while without offers.
AT_ONCE: Final = 64.0


class Pace:
    """A bucket of offers that fills with time, of a monotonic clock in seconds."""

    def __init__(self) -> None:
        self._left = AT_ONCE
        self._at = 0.0

    def take(self, now: float) -> bool:
        """Whether an offer may go out now; it then counts."""
        self._left = min(AT_ONCE, self._left + (now - self._at) * PER_SECOND)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True
