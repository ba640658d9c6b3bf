"""When a fleet has too few collectors to go on, and what to say then."""

from __future__ import annotations

from datetime import timedelta

from collectorfleet.gather.state.slots import Slots


class Shortage:
    """Times are of the caller's monotonic clock, in seconds. A fleet that begins has too few of ``min_available``."""

    def __init__(self, now: float, min_available: int) -> None:
        self._since: float | None = now
        self._reached = min_available

    def verdict(self, available: int, slots: Slots, min_available: int, patience: timedelta, now: float) -> str | None:
        """Why the fleet cannot go on, with the numbers; None while it can.

        It cannot once fewer than ``min_available`` were there for longer than ``patience``, or can be there at all.
        """
        # Scaled up to more than there is room for, a fleet has lost nothing: what was never there is not missed.
        self._reached = max(1, min(max(self._reached, available), slots.desired))
        # A pod that is drained is on its way back, however long its successor takes.
        needed = min(min_available, self._reached, slots.desired - len(slots.waiting))
        if available >= needed:
            self._since = None
            return None
        if self._since is None:
            self._since = now
        too_long = now - self._since > patience.total_seconds()
        if not too_long and slots.desired - slots.lost_for_good >= needed:
            return None
        state = f"available for {now - self._since:.0f} s" if too_long else "left"
        return f"only {available} of {slots.desired} collectors {state} (minAvailable is {needed})"
