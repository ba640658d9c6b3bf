"""Record which environments end an episode."""

from __future__ import annotations

import numpy as np


class Ends:
    """The environments whose episodes end with the same step, in ascending order.

    The lists ``which``, ``terminated`` and ``truncated`` have equal length. In most steps, no episode or only a few
    episodes end. So lists are faster than arrays of all environments.
    """

    def __init__(self) -> None:
        self.which: list[int] = []
        self.terminated: list[bool] = []
        self.truncated: list[bool] = []

    @classmethod
    def of(cls, terminated: np.ndarray, truncated: np.ndarray) -> Ends:
        """Build the ends from bool arrays ``[environments]``."""
        found = cls()
        found.which = (terminated | truncated).nonzero()[0].tolist()
        found.terminated = terminated[found.which].tolist()
        found.truncated = truncated[found.which].tolist()
        return found

    def add(self, environment: int, terminated: bool, truncated: bool) -> None:
        """Append an environment. Its index must be higher than the present indexes."""
        self.which.append(environment)
        self.terminated.append(terminated)
        self.truncated.append(truncated)

    def cut(self, these: np.ndarray) -> None:
        """Add the episodes that a transform truncates.

        ``these`` is bool ``[environments]``, True for truncated episodes.
        """
        terminated = dict(zip(self.which, self.terminated, strict=True))
        truncated = dict(zip(self.which, self.truncated, strict=True)) | dict.fromkeys(
            these.nonzero()[0].tolist(), True
        )
        self.which = sorted(truncated)
        self.terminated = [terminated.get(one, False) for one in self.which]
        self.truncated = [truncated[one] for one in self.which]


class RolloutEnds:
    """The ends of episodes in a rollout, in the order of steps. Each end has a step, an environment and two flags."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.which: list[int] = []
        self.terminated: list[bool] = []
        self.truncated: list[bool] = []

    def add(self, step: int, ends: Ends) -> None:
        self.steps += [step] * len(ends.which)
        self.which += ends.which
        self.terminated += ends.terminated
        self.truncated += ends.truncated
