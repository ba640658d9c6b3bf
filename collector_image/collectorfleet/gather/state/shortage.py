"""Decide when a fleet has too few collectors to continue, and describe why."""

from __future__ import annotations

from datetime import timedelta

from collectorfleet.gather.state.slots import Slots


class Shortage:
    """Measures how long a fleet has had too few collectors. Times are of the caller's monotonic clock, in seconds."""

    def __init__(self, now: float, min_available: int) -> None:
        self._since: float | None = now
        self._reached = min_available

    def verdict(self, available: int, slots: Slots, min_available: int, patience: timedelta, now: float) -> str | None:
        """Return the reason why the fleet cannot continue, or None if the fleet can continue.

        The fleet cannot continue if fewer than ``min_available`` collectors have been available for longer than
        ``patience``. The fleet also cannot continue if so many slots are given up that ``min_available`` cannot be
        reached.
        """
        # A user may scale a fleet to more collectors than the cluster has room for. So collectors that were never
        # available do not count as missing.
        self._reached = max(1, min(max(self._reached, available), slots.desired))
        # Collectors of a drained pod start again when the pod is replaced. This may take any time, so these collectors
        # do not count as missing.
        needed = min(min_available, self._reached, slots.desired - len(slots.waiting))
        if available >= needed:
            self._since = None
            return None
        if self._since is None:
            self._since = now
        too_long = now - self._since > patience.total_seconds()
        if not too_long and slots.desired - slots.given_up >= needed:
            return None
        state = f"available for {now - self._since:.0f} s" if too_long else "left"
        return f"only {available} of {slots.desired} collectors {state} (minAvailable is {needed})"
