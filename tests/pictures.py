"""Define a Gymnasium environment that renders itself with numpy. Each step is 20 brighter than the step before."""

from __future__ import annotations

import random
from functools import partial
from typing import Any, ClassVar, Final

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from torchrl.envs import GymWrapper

SIZE: Final = (24, 32)


class Pictured(gymnasium.Env[Any, Any]):
    """Is done after ``length`` steps. A reward is the sum of the action and a number that ``reset`` drew.

    Args:
        render_mode: ``rgb_array``, or None: then ``render()`` returns None.
        length: steps of an episode.
        has_pixels: observations include the picture as ``pixels``, uint8 [24, 32, 3].
        draws: ``render()`` draws from the global generators of torch, numpy and ``random``.
        kind: the form of the picture that ``render()`` returns: ``colors``, ``gray``, ``alpha``, ``floats first``,
            ``tensor``, ``list`` or ``flat``. With ``raises`` or ``raises once``, ``render()`` raises.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"]}

    def __init__(
        self,
        render_mode: str | None = "rgb_array",
        length: int = 5,
        *,
        has_pixels: bool = False,
        draws: bool = False,
        kind: str = "colors",
    ) -> None:
        self.render_mode = render_mode
        self._length, self._has_pixels, self._draws, self._kind = length, has_pixels, draws, kind
        self._count, self._drawn, self._rendered = 0, 0.0, 0
        self.action_space = spaces.Box(0, 1, (1,))
        observation = {"observation": spaces.Box(0, np.inf, (1,))}
        pixels = {"pixels": spaces.Box(0, 255, (*SIZE, 3), np.uint8)} if has_pixels else {}
        self.observation_space = spaces.Dict(observation | pixels)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._count, self._drawn = 0, float(self.np_random.random())
        return self._observed(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._count += 1
        return self._observed(), float(action[0]) + self._drawn, self._count >= self._length, False, {}

    def render(self) -> Any:
        if self.render_mode is None:
            return None
        self._rendered += 1
        if self._draws:
            torch.rand(3), np.random.rand(3), random.random()
        if self._kind == "raises" or (self._kind == "raises once" and self._rendered == 1):
            raise RuntimeError("no display")
        frame = self._picture()
        forms = {
            "gray": frame[..., 0],
            "alpha": np.concatenate([frame, np.full((*SIZE, 1), 255, np.uint8)], -1),
            "floats first": np.moveaxis(frame, -1, 0) / 255,
            "tensor": torch.from_numpy(frame),
            "list": [frame],
            "flat": np.zeros(7, np.uint8),
        }
        return forms.get(self._kind, frame)

    def _picture(self) -> np.ndarray:
        return np.full((*SIZE, 3), min(255, 20 * self._count), np.uint8)

    def _observed(self) -> dict[str, Any]:
        pixels = {"pixels": self._picture()} if self._has_pixels else {}
        return {"observation": np.full(1, self._count, np.float32), **pixels}


def make_pictured(**kwargs: Any) -> GymWrapper:
    return GymWrapper(Pictured(**kwargs))


def make_pictured_batch(lengths: tuple[int, ...]) -> GymWrapper:
    """Return environments that Gymnasium steps together, each with its own length of episodes."""
    creators = [partial(Pictured, length=length) for length in lengths]
    return GymWrapper(SyncVectorEnv(creators, autoreset_mode=AutoresetMode.DISABLED))
