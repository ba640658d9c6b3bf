"""The result of an evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import sqrt
from statistics import fmean, quantiles, stdev

from collectorfleet.messages import Episodes


@dataclass(frozen=True)
class EvaluationResult:
    """The result of evaluating one version of the weights. All episodes ran from their first step to their last step.

    Args:
        version: the version of the weights.
        frames: the number of frames that were handed out before this version was published.
        returns: the sum of rewards of each episode, in the order of the episodes.
        lengths: the number of frames of each episode, in the same order.
        seconds: the duration of the evaluation.
        time: the end of the evaluation, in UTC.
    """

    version: int
    frames: int
    returns: tuple[float, ...] = field(repr=False)
    lengths: tuple[int, ...] = field(repr=False)
    seconds: float
    time: datetime

    @classmethod
    def of(
        cls, version: int, frames: int, episodes: Sequence[Episodes], count: int, seconds: float, time: datetime
    ) -> EvaluationResult:
        """Return the result of the first ``count`` episodes in ``episodes``."""
        returns = [value for one in episodes for value in one.returns]
        lengths = [value for one in episodes for value in one.lengths]
        return cls(version, frames, tuple(returns[:count]), tuple(lengths[:count]), seconds, time)

    @property
    def mean(self) -> float:
        """The mean return."""
        return fmean(self.returns)

    @property
    def standard_error(self) -> float | None:
        """The standard error of the mean return. It is None if there is only one episode."""
        return stdev(self.returns) / sqrt(len(self.returns)) if len(self.returns) > 1 else None

    @property
    def quartiles(self) -> tuple[float, float, float]:
        """The lower quartile, the median and the upper quartile of the returns, with linear interpolation."""
        if len(self.returns) == 1:
            return (self.returns[0],) * 3
        lower, median, upper = quantiles(self.returns, n=4, method="inclusive")
        return lower, median, upper

    @property
    def length_mean(self) -> float:
        """The mean length of the episodes, in frames."""
        return fmean(self.lengths)


@dataclass(frozen=True)
class EpisodeVideo:
    """One episode of an evaluation as an animated WebP file.

    Args:
        version: the version of the weights.
        frames: the number of frames that were handed out before this version was published.
        episode: the index of the episode in the evaluation. The first episode has index 0.
        seed: the seed of the episode. If a batch of environments ran the episode, this is the seed of the batch.
        episode_return: the sum of the episode's rewards.
        length: the number of frames of the episode.
        data: the content of the file.
    """

    version: int
    frames: int
    episode: int
    seed: int
    episode_return: float
    length: int
    data: bytes = field(repr=False)
