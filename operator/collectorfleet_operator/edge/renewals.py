"""For how long each Lease was seen not to change: by this process's clock, because those of machines differ."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from collectorfleet_api.times import parse_time
from collectorfleet_operator.objects import Key, Object, changed_at

# Of the time between two lists counts so much: while nobody answers, a driver cannot renew either.
LONGEST_STEP_SECONDS: Final = 10.0
# A renewal is that long on its way at most, and the API server notes when it came in whole seconds.
_IN_STEP: Final = timedelta(seconds=10)


class Renewals:
    """``clock`` counts seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._listed_at: float | None = None
        self._watched_seconds = 0.0
        # What both will be once the list that is read now is complete. One that breaks off has watched nobody.
        self._under_way: tuple[float, float] | None = None
        # Holder and renewal as the Lease says them, and after how much watching it began to.
        self._seen: dict[Key, tuple[tuple[str | None, str | None], float]] = {}
        self._ahead: dict[Key, timedelta] = {}
        self._unheld_since: dict[Key, datetime | None] = {}

    def listing(self) -> None:
        """Leases are about to be noted, as they are now; that it was all of them, :meth:`listed` says."""
        now = self._clock()
        step = 0.0 if self._listed_at is None else min(now - self._listed_at, LONGEST_STEP_SECONDS)
        self._under_way = (now, self._watched_seconds + step)

    def listed(self) -> None:
        """All Leases were noted, as they were when that began."""
        if self._under_way is not None:
            self._listed_at, self._watched_seconds = self._under_way
            self._under_way = None

    def note(self, key: Key, lease: Object) -> None:
        """Take news of a Lease. A change of anything but holder and renewal is none; nor is a Lease nobody held."""
        spec = lease.get("spec") or {}
        holder_and_renewal = (spec.get("holderIdentity"), spec.get("renewTime"))
        before = self._seen.get(key)
        if holder_and_renewal[0]:
            self._unheld_since.pop(key, None)
        else:
            self._unheld_since[key] = changed_at(lease)
        if any(holder_and_renewal) and (before is None or before[0] != holder_and_renewal):
            self._seen[key] = (holder_and_renewal, self._under_way[1] if self._under_way else self._watched_seconds)
            self._ahead[key] = _ahead(lease)

    def forget(self, key: Key) -> None:
        self._seen.pop(key, None)
        self._ahead.pop(key, None)
        self._unheld_since.pop(key, None)

    def clock_ahead(self, key: Key) -> timedelta:
        """How far the holder's clock is ahead of the API server's, by its last renewal; 0 where they are in step."""
        return self._ahead.get(key, timedelta(0))

    def unheld_since(self, key: Key) -> datetime | None:
        """When it was made or given back, by the API server's clock; None while somebody holds it."""
        return self._unheld_since.get(key)

    def unchanged_for(self, key: Key) -> timedelta | None:
        """How long it was listed and had not changed; None if nobody ever held it."""
        seen = self._seen.get(key)
        return timedelta(seconds=max(0.0, self._watched_seconds - seen[1])) if seen else None

    def unchanged(self, longer_than: Callable[[timedelta], bool]) -> set[Key]:
        """Return the Leases that somebody held and that have not changed for that long."""
        return {key for key in self._seen if longer_than(self.unchanged_for(key) or timedelta(0))}


def _ahead(lease: Object) -> timedelta:
    # Its holder may write any time: one that is out of range says nothing about a clock.
    renewed, written = parse_time((lease.get("spec") or {}).get("renewTime")), changed_at(lease)
    if renewed is None or written is None:
        return timedelta(0)
    ahead = renewed - written
    return ahead if abs(ahead) > _IN_STEP else timedelta(0)
