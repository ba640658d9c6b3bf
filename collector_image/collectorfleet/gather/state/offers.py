"""The rate at which the gather offers weights.

A request brings the newest weights to a collector that was not offered them. So offers are only for collectors that
work or wait meanwhile. Offer and acknowledgement cost half a millisecond in the driver, whose process trains, and more
in the collector. With an offer after each update, a fleet with short rollouts would do little else. So each answer
allows one offer, and time allows some more. The collector that begins its next rollout first has priority, then the
collector whose last offer is oldest. See :meth:`~.collectors.Collectors.next_to_offer`.
"""

from __future__ import annotations

from typing import Final

# In addition to offers for answers: 5 % of a core. With 4 collectors, each gets 25 versions a second. 512 collectors
# need 5 s for one version.
PER_SECOND: Final = 100.0
# The most offers that can go out at once.
AT_ONCE: Final = 64.0


class Pace:
    """A token bucket of offers. Answers and time fill it; the clock is monotonic, in seconds."""

    def __init__(self) -> None:
        self._left = AT_ONCE
        self._at = 0.0

    def answered(self) -> None:
        """Add one offer for an answer."""
        self._left = min(AT_ONCE, self._left + 1)

    def take(self, now: float) -> bool:
        """Take an offer from the bucket. Return False if the bucket is empty."""
        self._left = min(AT_ONCE, self._left + (now - self._at) * PER_SECOND)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True
