"""Keep results of evaluations in bounded space. At the bound, a result close to its neighbours is dropped."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Final

from collectorfleet.timeline.timeline import Evaluated
from collectorfleet_api.v1alpha1 import EvaluationStatus

MOST_EVALUATIONS: Final = 400


class Evaluations:
    """The results, ordered by the end of the evaluation. The first, the newest and the best result are always kept."""

    def __init__(self, results: Sequence[Evaluated] = ()) -> None:
        self.results = list(results)

    def note(self, *statuses: EvaluationStatus) -> None:
        """Add the newest result of each status, in the order of the results. Leave out results that are not new."""
        for found in sorted(filter(None, map(_newest, statuses)), key=lambda one: one.key):
            if self.results and found.key <= self.results[-1].key:
                continue
            self.results.append(found)
            if len(self.results) > MOST_EVALUATIONS:
                del self.results[_closest(self.results)]


def halved(results: Sequence[Evaluated]) -> list[Evaluated]:
    """Return every second result, and the newest and the best result."""
    if not results:
        return []
    kept = {*range(0, len(results), 2), _best(results), len(results) - 1}
    return [results[place] for place in sorted(kept)]


def _best(results: Sequence[Evaluated]) -> int:
    return max(range(len(results)), key=lambda place: results[place].return_mean)


def _closest(results: Sequence[Evaluated]) -> int:
    """Return the index of the result whose two neighbours are closest to each other, in frames."""
    best = _best(results)
    inner = (place for place in range(1, len(results) - 1) if place != best)
    return min(inner, key=lambda place: abs(results[place + 1].frames - results[place - 1].frames))


def _newest(status: EvaluationStatus) -> Evaluated | None:
    version, frames, time, mean = status.version, status.frames, status.time, status.return_mean
    if version is None or frames is None or time is None or mean is None or not isfinite(mean):
        return None
    error = status.return_standard_error
    return Evaluated(
        time=time.timestamp(),
        version=version,
        frames=frames,
        return_mean=mean,
        standard_error=error if error is not None and isfinite(error) else None,
        episodes=status.episodes,
    )
