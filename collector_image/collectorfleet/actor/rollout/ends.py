"""Who is at an end after a step."""

from __future__ import annotations

import numpy as np


class Ends:
    """Those that are at an end after one step, in their order: lists that are as long as they are many.

    Most steps end nothing, and others few: what is done about them is done for each by itself.
    """

    def __init__(self) -> None:
        self.which: list[int] = []
        self.terminated: list[bool] = []
        self.truncated: list[bool] = []

    @classmethod
    def of(cls, terminated: np.ndarray, truncated: np.ndarray) -> Ends:
        """From arrays of bool ``[environments]``."""
        found = cls()
        found.which = (terminated | truncated).nonzero()[0].tolist()
        found.terminated = terminated[found.which].tolist()
        found.truncated = truncated[found.which].tolist()
        return found

    def add(self, environment: int, terminated: bool, truncated: bool) -> None:
        """One more, behind those that are there."""
        self.which.append(environment)
        self.terminated.append(terminated)
        self.truncated.append(truncated)

    def cut(self, these: np.ndarray) -> None:
        """A transform truncates ``these``, bool ``[environments]``."""
        terminated = dict(zip(self.which, self.terminated, strict=True))
        truncated = dict(zip(self.which, self.truncated, strict=True)) | dict.fromkeys(
            these.nonzero()[0].tolist(), True
        )
        self.which = sorted(truncated)
        self.terminated = [terminated.get(one, False) for one in self.which]
        self.truncated = [truncated[one] for one in self.which]


class Ended:
    """The ends of a rollout: for each the step, the environment and how it ended, as they came."""

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
