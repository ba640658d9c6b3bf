"""Keep numbers over time in bounded space. At the bound, every second point is dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

MOST_POINTS: Final = 400
MOST_SERIES: Final = 60

Values = Mapping[str, float]


class Points:
    """Points of several series over time. ``times`` are in seconds, in ascending order.

    ``series`` has lists by name, each as long as ``times``, with None for unknown values. The first and the newest
    point are always kept. Points between them are at least ``every`` seconds apart, and ``every`` doubles at the bound.
    """

    def __init__(
        self,
        times: Sequence[float] = (),
        series: Mapping[str, Sequence[float | None]] | None = None,
        every: float = 0.0,
    ) -> None:
        self.times = list(times)
        self.series = {name: list(values) for name, values in (series or {}).items()}
        self.every = every

    def add(self, time: float, values: Values) -> None:
        """Add a point. A point that is not later than the newest point is ignored. Only the first 60 names are kept."""
        if self.times and time <= self.times[-1]:
            return
        if len(self.times) > 1 and self.times[-1] - self.times[-2] < self.every:
            self._keep(range(len(self.times) - 1))
        elif len(self.times) == MOST_POINTS:
            self._keep(range(0, MOST_POINTS, 2))
            self.every = max(2 * self.every, (self.times[-1] - self.times[0]) / (len(self.times) - 1))
        self.times.append(time)
        for name, known in self.series.items():
            known.append(values.get(name))
        for name in values:
            if name not in self.series and len(self.series) < MOST_SERIES:
                self.series[name] = [*([None] * (len(self.times) - 1)), values[name]]

    def _keep(self, which: range) -> None:
        self.times = [self.times[i] for i in which]
        self.series = {name: [values[i] for i in which] for name, values in self.series.items()}
