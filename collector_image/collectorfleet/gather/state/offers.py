"""How many offers of weights go out in a second.

A request brings the newest weights to a collector that was not offered them. So an offer is for collectors that work or
wait meanwhile. Offer and acknowledgement cost half a millisecond in the driver, whose process trains, and more in the
collector. With an offer after each update, a fleet with short rollouts would do little else. So there is one offer for
each answer, and some more. The collector that begins its next rollout first has priority, then the collector whose last
offer is oldest. See :meth:`~.collectors.Collectors.next_to_offer`.
"""

from __future__ import annotations

from typing import Final

# Beside those that answers earn: 5 % of a core. 4 collectors get 25 versions a second each, 512 the newest in 5 s.
PER_SECOND: Final = 100.0
# What a fleet gets at once, after a while without offers.
AT_ONCE: Final = 64.0


class Pace:
    """A bucket of offers that fills with answers, and with time of a monotonic clock in seconds."""

    def __init__(self) -> None:
        self._left = AT_ONCE
        self._at = 0.0

    def answered(self) -> None:
        """A collector answered, which earns an offer."""
        self._left = min(AT_ONCE, self._left + 1)

    def take(self, now: float) -> bool:
        """Whether an offer may go out now; it then counts."""
        self._left = min(AT_ONCE, self._left + (now - self._at) * PER_SECOND)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True
