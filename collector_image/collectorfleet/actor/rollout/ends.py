"""Who is at an end after a step."""

from __future__ import annotations

import numpy as np


class Ends:
    """Which environments are at their end after a step: arrays of bool ``[environments]``."""

    def __init__(self, terminated: np.ndarray, truncated: np.ndarray) -> None:
        self.terminated = terminated
        self.truncated = truncated
        self.done = terminated | truncated

    @classmethod
    def nobody(cls, environments: int) -> Ends:
        return cls(np.zeros(environments, bool), np.zeros(environments, bool))

    def add(self, environment: int, terminated: bool, truncated: bool) -> None:
        self.terminated[environment] = terminated
        self.truncated[environment] = truncated
        self.done[environment] = True

    def cut(self, which: np.ndarray) -> None:
        """A transform truncates these."""
        self.truncated |= which
        self.done |= which

    def which(self) -> list[int]:
        """Those that are reset, in their order."""
        found: list[int] = self.done.nonzero()[0].tolist()
        return found
