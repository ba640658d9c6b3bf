"""When each kind was last listed as a whole, and when its watch last delivered an event."""

from __future__ import annotations

import math
from collections.abc import Callable

from collectorfleet_operator.objects import Kind


class Freshness:
    """``clock`` counts seconds. Outlives the cache: an operator that keeps starting over must not look fresh."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._listed_at: dict[Kind, dict[str | None, float]] = {}
        self._newest: dict[Kind, float] = {}
        self._last_event_at: dict[Kind, float] = {}

    def record_list(self, kind: Kind, namespace: str | None) -> None:
        """Note that all objects of one namespace, or of all namespaces, were listed."""
        self._listed_at.setdefault(kind, {})[namespace] = self._newest[kind] = self._clock()

    def record_refused_list(self, kind: Kind, namespace: str | None) -> None:
        """Note that a list was refused. If there was none before, its age counts from the first refusal."""
        self._listed_at.setdefault(kind, {}).setdefault(namespace, self._clock())

    def record_event(self, kind: Kind) -> None:
        """Note that the watch of a kind delivered an event, or began."""
        self._last_event_at[kind] = self._clock()

    def forget(self, kind: Kind) -> None:
        """Drop the times of a kind that the API server does not serve."""
        self._listed_at.pop(kind, None)
        self._last_event_at.pop(kind, None)

    def list_ages(self) -> dict[Kind, float]:
        """Seconds by kind, of the namespace that was listed longest ago."""
        now = self._clock()
        return {kind: now - min(times.values()) for kind, times in self._listed_at.items()}

    def newest_list_age(self, kind: Kind) -> float:
        """Return the seconds since any namespace was listed; infinity if none ever was."""
        return self._clock() - self._newest.get(kind, -math.inf)

    def watch_ages(self) -> dict[Kind, float]:
        """Seconds by kind."""
        now = self._clock()
        return {kind: now - time for kind, time in self._last_event_at.items()}
