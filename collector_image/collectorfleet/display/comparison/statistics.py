"""Estimate mean and interquartile mean of a group's runs with bootstrap intervals, as rliable does for one task.

The interquartile mean (IQM) is the mean without the lowest and the highest quarter of the runs. The interval is the
percentile bootstrap of whole runs. With one task, rliable's stratified bootstrap has one stratum, so it gives the same
interval.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from collectorfleet.display.comparison.runs import Curve

CONFIDENCE: Final = 0.95
RESAMPLES: Final = 2000
# With fewer than four runs, a quarter of the runs is less than one run.
LEAST_FOR_IQM: Final = 4
_POINTS: Final = 120
# With a fixed seed, the same runs produce the same page.
_SEED: Final = 0

Floats = NDArray[np.float64]
Statistic = Callable[..., Any]


def _mean(values: Floats, axis: int = -1) -> Any:
    return np.mean(values, axis=axis)


def _iqm(values: Floats, axis: int = -1) -> Any:
    return stats.trim_mean(values, 0.25, axis=axis)


STATISTICS: Final[Mapping[str, Statistic]] = {"mean": _mean, "interquartile mean": _iqm}


@dataclass(frozen=True)
class Estimate:
    """A statistic at each of ``xs``. ``low`` and ``high`` are the bounds of its interval. Both are None for one run."""

    xs: Sequence[float]
    values: Sequence[float]
    low: Sequence[float] | None
    high: Sequence[float] | None


def common(curves: Sequence[Curve]) -> tuple[float, float] | None:
    """Return the range in which all curves have values: from the latest beginning to the earliest end.

    Return None if the range is empty.
    """
    first, last = max(one.xs[0] for one in curves), min(one.xs[-1] for one in curves)
    return (first, last) if first <= last else None


def along(curves: Sequence[Curve], statistic: Statistic) -> Estimate | None:
    """Estimate ``statistic`` on a grid over the range of :func:`common`. Return None if the range is empty."""
    part = common(curves)
    if part is None:
        return None
    return _estimate(curves, np.linspace(*part, _POINTS if part[0] < part[1] else 1), statistic)


def at(curves: Sequence[Curve], x: float, statistic: Statistic) -> Estimate:
    """Estimate ``statistic`` at ``x``. All curves must have a value at ``x``."""
    return _estimate(curves, np.array([x]), statistic)


def _estimate(curves: Sequence[Curve], xs: Floats, statistic: Statistic) -> Estimate:
    # [runs, grid]. Values between two points of a run are interpolated linearly.
    values = np.array([np.interp(xs, one.xs, one.ys) for one in curves])
    found = np.asarray(statistic(values, axis=0))
    if len(curves) == 1:
        return Estimate(xs.tolist(), found.tolist(), None, None)
    interval = stats.bootstrap(
        (values,),
        statistic,
        axis=0,
        vectorized=True,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(_SEED),
    ).confidence_interval
    return Estimate(xs.tolist(), found.tolist(), np.asarray(interval.low).tolist(), np.asarray(interval.high).tolist())
