"""How old what the operator knows is: when each kind was last listed as a whole, and last heard of by its watch."""

from __future__ import annotations

import math
from collections.abc import Callable

from collectorfleet_operator.objects import Kind


class Freshness:
    """``clock`` counts seconds. Outlives the cache: an operator that keeps starting over must not look fresh."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._listed: dict[Kind, dict[str | None, float]] = {}
        self._newest: dict[Kind, float] = {}
        self._heard: dict[Kind, float] = {}

    def listed(self, kind: Kind, namespace: str | None) -> None:
        """All objects of one namespace, or of all, were listed."""
        self._listed.setdefault(kind, {})[namespace] = self._newest[kind] = self._clock()

    def not_listed(self, kind: Kind, namespace: str | None) -> None:
        """The list was refused: what there is of it is as old as the first try."""
        self._listed.setdefault(kind, {}).setdefault(namespace, self._clock())

    def heard(self, kind: Kind) -> None:
        """Its watch told of a change, or begins."""
        self._heard[kind] = self._clock()

    def not_served(self, kind: Kind) -> None:
        """There is nothing of it to be known."""
        self._listed.pop(kind, None)
        self._heard.pop(kind, None)

    def list_ages(self) -> dict[Kind, float]:
        """Seconds by kind, of the namespace that was listed longest ago."""
        now = self._clock()
        return {kind: now - min(times.values()) for kind, times in self._listed.items()}

    def newest_list_age(self, kind: Kind) -> float:
        """Return the seconds since any namespace was listed; infinity if none ever was."""
        return self._clock() - self._newest.get(kind, -math.inf)

    def watch_ages(self) -> dict[Kind, float]:
        """Seconds by kind."""
        now = self._clock()
        return {kind: now - time for kind, time in self._heard.items()}
