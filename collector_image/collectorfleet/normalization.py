"""What environments keep of what they saw, to normalize by it, and how that of many becomes one. Knows no torch.

One update with decay ``d`` makes ``d * sum + x`` of a sum. So ``k`` updates make ``d**k * sum + contribution``, where
the contribution is the result of the same updates on a sum of 0. It can be taken out of one environment and put into
another. Contributions that are merged one after another equal those of one environment that saw all steps in that
order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Running:
    """What is kept of one key: sums (float64) that fade by ``decay`` with each of ``updates``.

    A constant is one whose decay is 1 and that has no updates. Without sums it is as yet nothing.
    """

    decay: float
    updates: int
    sums: Mapping[str, Array] = field(repr=False)

    def merged(self, contribution: Running) -> Running:
        """This, and then what happened in ``contribution``."""
        faded = self.decay**contribution.updates
        sums = {name: faded * value for name, value in self.sums.items()}
        for name, value in contribution.sums.items():
            sums[name] = sums[name] + value if name in sums else value
        return Running(self.decay, self.updates + contribution.updates, sums)

    def since(self, before: Running) -> Running:
        """The contribution that made this out of ``before``."""
        updates = self.updates - before.updates
        faded = self.decay**updates
        return Running(
            self.decay, updates, {name: value - faded * before.sums[name] for name, value in self.sums.items()}
        )

    @property
    def is_finite(self) -> bool:
        return all(bool(np.isfinite(value).all()) for value in self.sums.values())


# By name: where the transform stands in the environment, its class and the key, such as `1.VecNormV2.observation`.
Normalization = Mapping[str, Running]


def merged(contributions: Normalization, further: Normalization) -> dict[str, Running]:
    """Both, one after the other; a name that is in one of them is as it is there."""
    found = dict(contributions)
    for name, one in further.items():
        found[name] = found[name].merged(one) if name in found else one
    return found
