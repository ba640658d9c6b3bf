"""The rate at which the gather offers weights.

If a collector lacks the newest weights, they are sent with its next request. So separate offers are only needed for
collectors that work on a long rollout or have no request. An offer and its acknowledgement cost half a millisecond in
the driver process, and more in the collector. The driver process also trains. If every collector got an offer after
each update, a fleet with short rollouts would do little else. So the rate is limited: each answer allows one offer, and
further offers are allowed as time passes. The collector that has worked longest on its present request has priority. If
the newest version was already offered to that collector, the collector whose last offer is oldest has priority. See
:meth:`~.collectors.Collectors.next_to_offer`.
"""

from __future__ import annotations

from typing import Final

# The number of offers per second, in addition to one offer for each answer. This number of offers needs 5 % of a CPU
# core. 4 collectors can get 25 versions per second each. With 512 collectors, a version reaches all of them in 5 s.
PER_SECOND: Final = 100.0
# The largest number of offers that can be sent at once.
AT_ONCE: Final = 64.0


class Pace:
    """A token bucket for offers. Answers and passing time add offers. Times are of a monotonic clock, in seconds."""

    def __init__(self) -> None:
        self._left = AT_ONCE
        self._at = 0.0

    def answered(self) -> None:
        """Add one offer, because a collector has answered."""
        self._left = min(AT_ONCE, self._left + 1)

    def take(self, now: float) -> bool:
        """Remove one offer from the bucket. Return False if the bucket is empty."""
        self._left = min(AT_ONCE, self._left + (now - self._at) * PER_SECOND)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True
