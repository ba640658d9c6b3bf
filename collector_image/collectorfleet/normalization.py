"""Merge the normalization statistics of many environments into one. Imports no torch.

An update with decay ``d`` turns a sum into ``d * sum + x``. So ``k`` updates turn a sum into ``d**k * sum +
contribution``. The contribution is the result of the same updates on a sum of 0. A contribution of one environment can
be merged into the sums of another environment. Merging contributions one after another gives the same sums as one
environment that takes all these steps in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class RunningStatistics:
    """The statistics of one key: float64 sums, the decay, and the number of updates.

    Each update multiplied the sums by ``decay``, and then added new values. Constants have a decay of 1 and no updates.
    Statistics without any observation have no sums.
    """

    decay: float
    updates: int
    sums: Mapping[str, Array] = field(repr=False)

    def merged(self, contribution: RunningStatistics) -> RunningStatistics:
        """Return these statistics after the updates of ``contribution``."""
        faded = self.decay**contribution.updates
        sums = {name: faded * value for name, value in self.sums.items()}
        for name, value in contribution.sums.items():
            sums[name] = sums[name] + value if name in sums else value
        return RunningStatistics(self.decay, self.updates + contribution.updates, sums)

    def since(self, before: RunningStatistics) -> RunningStatistics:
        """Return the contribution of the updates after ``before``: ``before.merged(contribution)`` equals ``self``."""
        updates = self.updates - before.updates
        faded = self.decay**updates
        return RunningStatistics(
            self.decay, updates, {name: value - faded * before.sums[name] for name, value in self.sums.items()}
        )

    @property
    def is_finite(self) -> bool:
        """Return whether all sums are finite."""
        return all(bool(np.isfinite(value).all()) for value in self.sums.values())


# A name has the transform's position in the environment, its class and the key: `1.VecNormV2.observation`.
Normalization = Mapping[str, RunningStatistics]


def merged(contributions: Normalization, further: Normalization) -> dict[str, RunningStatistics]:
    """Return ``contributions`` merged with the later statistics in ``further``.

    Statistics in only one of the two mappings stay unchanged.
    """
    found = dict(contributions)
    for name, one in further.items():
        found[name] = found[name].merged(one) if name in found else one
    return found
