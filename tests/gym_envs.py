"""Define a Gymnasium environment that its seed and actions determine completely."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete
from torchrl.envs import GymWrapper


class Chance(gymnasium.Env[np.ndarray, Any]):
    """Draws observations, rewards and ends with its generator. The reward includes the sum of the action.

    Args:
        shape: the shape of observations.
        dtype: the dtype of observations.
        actions: the number of discrete actions; with 0, an action is a box of shape [2].
        action_dtype: the dtype of that box.
        ends: the probability that a step terminates, and that it truncates. A step may do both.
        raises_at: the step at which it raises, counted over all episodes; 0 is never.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(
        self,
        shape: tuple[int, ...] = (3,),
        dtype: str = "float32",
        actions: int = 0,
        ends: float = 0.15,
        raises_at: int = 0,
        action_dtype: str = "float32",
    ) -> None:
        low, high = (0, 255) if dtype == "uint8" else (-np.inf, np.inf)
        self.observation_space = Box(low, high, shape, np.dtype(dtype).type)
        self.action_space = Discrete(actions) if actions else Box(-1, 1, (2,), np.dtype(action_dtype).type)
        self._ends = ends
        self._raises_at = raises_at
        self._steps = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        return self._observe(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self._steps += 1
        if self._steps == self._raises_at:
            raise ValueError("the game is broken")
        terminated, truncated = self.np_random.random(2) < self._ends
        reward = float(np.sum(action)) + self.np_random.normal()
        return self._observe(), reward, bool(terminated), bool(truncated), {}

    def _observe(self) -> np.ndarray:
        shape, dtype = self.observation_space.shape, self.observation_space.dtype
        if dtype == np.uint8:
            return self.np_random.integers(0, 256, shape, np.uint8)
        return self.np_random.normal(size=shape).astype(dtype)


class Masked(Chance):
    """Chance with four discrete actions, of which each observation allows some: ``action_mask``, bool [4]."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(actions=4, **arguments)
        seen = self.observation_space
        self.observation_space = Dict(observation=seen, action_mask=Box(0, 1, (4,), np.bool_))

    def _observe(self) -> Any:
        allowed = self.np_random.random(4) < 0.4
        allowed[self.np_random.integers(4)] = True
        return {"observation": self.np_random.normal(size=3).astype(np.float32), "action_mask": allowed}


def make_chance(**arguments: Any) -> GymWrapper:
    return GymWrapper(Chance(**arguments))
