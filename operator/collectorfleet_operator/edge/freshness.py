"""The times of the last complete list and of the last watch event of each kind."""

from __future__ import annotations

import math
from collections.abc import Callable

from collectorfleet_operator.objects import Kind


class Freshness:
    """The times of lists and watch events, in seconds of ``clock``.

    A new session clears the cache but not these times: an operator that keeps restarting its session must not look up
    to date.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._listed_at: dict[Kind, dict[str | None, float]] = {}
        self._newest: dict[Kind, float] = {}
        self._last_event_at: dict[Kind, float] = {}

    def record_list(self, kind: Kind, namespace: str | None) -> None:
        """Note that all objects of one namespace, or of all namespaces, were listed."""
        self._listed_at.setdefault(kind, {})[namespace] = self._newest[kind] = self._clock()

    def record_refused_list(self, kind: Kind, namespace: str | None) -> None:
        """Note that a list was refused. If no list succeeded before, the age counts from the first refusal."""
        self._listed_at.setdefault(kind, {}).setdefault(namespace, self._clock())

    def record_event(self, kind: Kind) -> None:
        """Note that the watch of a kind delivered an event, or began."""
        self._last_event_at[kind] = self._clock()

    def forget(self, kind: Kind) -> None:
        """Remove the times of a kind that the API server no longer serves."""
        self._listed_at.pop(kind, None)
        self._last_event_at.pop(kind, None)

    def list_ages(self) -> dict[Kind, float]:
        """Return, by kind, the seconds since the last list. The namespace that was listed longest ago counts."""
        now = self._clock()
        return {kind: now - min(times.values()) for kind, times in self._listed_at.items()}

    def newest_list_age(self, kind: Kind) -> float:
        """Return the seconds since the last list of any namespace, or infinity without a list."""
        return self._clock() - self._newest.get(kind, -math.inf)

    def watch_ages(self) -> dict[Kind, float]:
        """Return, by kind, the seconds since the last watch event."""
        now = self._clock()
        return {kind: now - time for kind, time in self._last_event_at.items()}
