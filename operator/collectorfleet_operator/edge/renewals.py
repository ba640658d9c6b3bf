"""Measures, by this process's clock, how long each Lease has been unchanged: the clocks of machines differ."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from collectorfleet_api.times import parse_time
from collectorfleet_operator.objects import Key, Object, changed_at

# The longest time that counts between two lists. While the API server does not answer, drivers cannot renew either.
LONGEST_STEP_SECONDS: Final = 10.0
# Smaller differences do not show that a clock is wrong: a renewal needs time, and the API server records whole seconds.
_IN_STEP: Final = timedelta(seconds=10)


class Renewals:
    """The last change of each Lease. ``clock`` counts seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._listed_at: float | None = None
        self._watched_seconds = 0.0
        # The next values of `_listed_at` and `_watched_seconds`. They apply once the present list is complete. A list
        # that breaks off does not count.
        self._under_way: tuple[float, float] | None = None
        # Holder and renewal time of each Lease, and the watched seconds at which these values first appeared.
        self._seen: dict[Key, tuple[tuple[str | None, str | None], float]] = {}
        self._ahead: dict[Key, timedelta] = {}
        self._unheld_since: dict[Key, datetime | None] = {}

    def listing(self) -> None:
        """Begin a list of Leases. Then call :meth:`note` for each of them, and :meth:`listed` after the last one."""
        now = self._clock()
        step = 0.0 if self._listed_at is None else min(now - self._listed_at, LONGEST_STEP_SECONDS)
        self._under_way = (now, self._watched_seconds + step)

    def listed(self) -> None:
        """End a complete list of Leases. Leases in the list count as unchanged until the list began."""
        if self._under_way is not None:
            self._listed_at, self._watched_seconds = self._under_way
            self._under_way = None

    def note(self, key: Key, lease: Object) -> None:
        """Record an update of a Lease. Only changes of holder and renewal time count, and only after a first holder."""
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
        """Return how far the holder's clock was ahead of the API server's at the last renewal.

        Differences up to 10 s count as 0.
        """
        return self._ahead.get(key, timedelta(0))

    def unheld_since(self, key: Key) -> datetime | None:
        """Return when the Lease was created or released, by the API server's clock, or None while it has a holder."""
        return self._unheld_since.get(key)

    def unchanged_for(self, key: Key) -> timedelta | None:
        """Return how long the lists have shown the Lease without a change, or None if the Lease never had a holder."""
        seen = self._seen.get(key)
        return timedelta(seconds=max(0.0, self._watched_seconds - seen[1])) if seen else None

    def unchanged(self, longer_than: Callable[[timedelta], bool]) -> set[Key]:
        """Return the Leases that have been unchanged for a time that satisfies ``longer_than``.

        Leases that never had a holder are left out.
        """
        return {key for key in self._seen if longer_than(self.unchanged_for(key) or timedelta(0))}


def _ahead(lease: Object) -> timedelta:
    # The holder may write any text. A time that cannot be parsed shows nothing about the holder's clock.
    renewed, written = parse_time((lease.get("spec") or {}).get("renewTime")), changed_at(lease)
    if renewed is None or written is None:
        return timedelta(0)
    ahead = renewed - written
    return ahead if abs(ahead) > _IN_STEP else timedelta(0)
