"""When each Lease was last seen to change: by this process's clock, because those of machines differ."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from collectorfleet_operator.objects import Key, Object


class Renewals:
    """``clock`` counts seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        # Holder and renewal as the Lease says them, and when it began to.
        self._seen: dict[Key, tuple[tuple[str | None, str | None], float]] = {}

    def note(self, key: Key, lease: Object) -> None:
        """Take news of a Lease. A change of anything but holder and renewal is none; nor is a Lease nobody held."""
        spec = lease.get("spec") or {}
        said = (spec.get("holderIdentity"), spec.get("renewTime"))
        before = self._seen.get(key)
        if any(said) and (before is None or before[0] != said):
            self._seen[key] = (said, self._clock())

    def forget(self, key: Key) -> None:
        self._seen.pop(key, None)

    def quiet_for(self, key: Key) -> timedelta | None:
        """Since the Lease was last seen to change; None if nobody ever held it."""
        seen = self._seen.get(key)
        return timedelta(seconds=self._clock() - seen[1]) if seen else None
