"""When a driver that does not renew its Lease counts as lost. Pure."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

# A driver renews its Lease several times in this time, whatever its training function does.
LOST_AFTER: Final = timedelta(seconds=40)

# From the start of its container: its Python, the API server's answer, and a Lease that an earlier driver let expire.
TAKES_LEASE_WITHIN: Final = timedelta(seconds=120)


def is_driver_lost(unchanged_for: timedelta | None) -> bool:
    """Whether a driver whose Lease has not changed for that long counts as lost; None: it never held it."""
    return unchanged_for is not None and unchanged_for >= LOST_AFTER
