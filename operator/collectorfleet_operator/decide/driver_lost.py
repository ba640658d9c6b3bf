"""The time after which a driver without a renewed Lease counts as lost. Pure."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

# A driver renews its Lease several times in this period, independently of its training function.
LOST_AFTER: Final = timedelta(seconds=40)

# This time counts from the start of the driver's container. Within this time, Python starts, the API server answers,
# and the Lease of an earlier driver expires.
TAKES_LEASE_WITHIN: Final = timedelta(seconds=120)


def is_driver_lost(unchanged_for: timedelta | None) -> bool:
    """Return whether a driver counts as lost if its Lease is unchanged for this time.

    None: the driver never held the Lease.
    """
    return unchanged_for is not None and unchanged_for >= LOST_AFTER
