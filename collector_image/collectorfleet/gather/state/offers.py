"""When collectors are offered the newest weights: how many offers a second.

A request takes the newest weights along to a collector that was not offered them, so an offer is for those that work or
wait meanwhile. Each costs the driver about 50 µs, in a process where somebody trains, so a fleet of hundreds with an
update after each batch is not offered every version everywhere: whoever was offered one longest ago comes first.
"""

from __future__ import annotations

from typing import Final

# A tenth of a core at most, and every one of 512 collectors four times a second.
PER_SECOND: Final = 2000.0
# What a fleet of this size gets at once, however long ago the last offer was.
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
