"""For how long each Lease was seen not to change: by this process's clock, because those of machines differ."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from collectorfleet_operator.objects import Key, Object

# Of the time between two lists counts so much: while nobody answers, a driver cannot renew either.
LONGEST_STEP_SECONDS: Final = 10.0


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
        said = (spec.get("holderIdentity"), spec.get("renewTime"))
        before = self._seen.get(key)
        if any(said) and (before is None or before[0] != said):
            self._seen[key] = (said, self._under_way[1] if self._under_way else self._watched_seconds)

    def forget(self, key: Key) -> None:
        self._seen.pop(key, None)

    def quiet_for(self, key: Key) -> timedelta | None:
        """How long it was listed and had not changed; None if nobody ever held it."""
        seen = self._seen.get(key)
        return timedelta(seconds=max(0.0, self._watched_seconds - seen[1])) if seen else None

    def quiet(self, longer_than: Callable[[timedelta], bool]) -> set[Key]:
        """The Leases that somebody held and that are quiet for that long."""
        return {key for key in self._seen if longer_than(self.quiet_for(key) or timedelta(0))}
