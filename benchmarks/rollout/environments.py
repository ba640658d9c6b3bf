"""Environments by name. It imports only Gymnasium, so that the sides of other libraries can use it, too."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

Make = Callable[[], gymnasium.Env[Any, Any]]


class Image(gymnasium.Env[np.ndarray, Any]):
    """An environment with constant images ``[84, 84, 4]``. Its step costs nothing, and an episode has 200 steps."""

    metadata = {"render_modes": []}  # noqa: RUF012  (Gymnasium declares it so)
    _LENGTH = 200

    def __init__(self) -> None:
        self.observation_space = Box(0, 255, (84, 84, 4), np.uint8)
        self.action_space = Box(-1, 1, (2,), np.float32)
        self._seen = np.zeros((84, 84, 4), np.uint8)
        self._steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        self._steps = 0
        return self._seen, {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self._steps += 1
        return self._seen, 1.0, False, self._steps >= self._LENGTH, {}


def _gym(name: str) -> Make:
    return partial(gymnasium.make, name, disable_env_checker=True)


MAKES: dict[str, Make] = {
    "CartPole": _gym("CartPole-v1"),
    "Pendulum": _gym("Pendulum-v1"),
    "HalfCheetah": _gym("HalfCheetah-v5"),
    "image": Image,
}
