"""Cart-poles as tensors: bare functions, and an environment for TorchRL that uses them.

The physics is the same as in Gymnasium's ``CartPole-v1``: Barto, Sutton and Anderson (1983), with Euler's method.
"""

from __future__ import annotations

from typing import Any, Final

import torch
from tensordict import TensorDict, TensorDictBase
from torch import Tensor
from torchrl.data import Binary, Composite, OneHot, Unbounded
from torchrl.envs import EnvBase

_GRAVITY: Final = 9.8
_POLE_MASS: Final = 0.1
_TOTAL_MASS: Final = 1.1
_HALF_LENGTH: Final = 0.5
_FORCE: Final = 10.0
_SECONDS: Final = 0.02
_ANGLE: Final = 12 * 2 * torch.pi / 360
_PLACE: Final = 2.4
_LONGEST: Final = 500


def move(state: Tensor, action: Tensor) -> Tensor:
    """Return the state ``[environments, 4]`` after a step. ``action`` ``[environments, 2]`` is one-hot."""
    _, speed, angle, turning = state.unbind(-1)
    force = torch.where(action[:, 1] > 0, _FORCE, -_FORCE)
    cosine, sine = angle.cos(), angle.sin()
    pushed = (force + _POLE_MASS * _HALF_LENGTH * turning.square() * sine) / _TOTAL_MASS
    spin = (_GRAVITY * sine - cosine * pushed) / (_HALF_LENGTH * (4 / 3 - _POLE_MASS * cosine.square() / _TOTAL_MASS))
    push = pushed - _POLE_MASS * _HALF_LENGTH * spin * cosine / _TOTAL_MASS
    return torch.stack([speed, push, turning, spin], -1).mul_(_SECONDS).add_(state)


def ends(state: Tensor, steps: Tensor) -> tuple[Tensor, Tensor]:
    """Return whether the pole fell, and whether the episode has its most steps, each bool ``[environments, 1]``."""
    fell = (state[:, 0].abs() > _PLACE) | (state[:, 2].abs() > _ANGLE)
    return fell.view(-1, 1), steps >= _LONGEST


def begin(over: Tensor, state: Tensor, steps: Tensor) -> None:
    """Begin a new episode, in place, in each environment for which ``over`` ``[environments, 1]`` is True."""
    state.copy_(torch.where(over, torch.rand_like(state).mul_(0.1).sub_(0.05), state))
    steps.masked_fill_(over, 0)


class CartPoles(EnvBase):
    """``count`` cart-poles on one device. It declares that a mask resets it, and that a CUDA graph can record it."""

    masked_reset = True
    capturable = True

    def __init__(self, count: int, device: str) -> None:
        super().__init__(device=device, batch_size=torch.Size([count]))
        shape = self.batch_size
        self.observation_spec = Composite(observation=Unbounded((*shape, 4), device=device), shape=shape, device=device)
        self.action_spec = OneHot(2, shape=(*shape, 2), device=device)
        self.reward_spec = Unbounded((*shape, 1), device=device)
        over = {
            key: Binary(shape=(*shape, 1), dtype=torch.bool, device=device)
            for key in ("done", "terminated", "truncated")
        }
        self.full_done_spec = Composite(over, shape=shape, device=device)
        self._state = torch.zeros(count, 4, device=device)
        self._steps = torch.zeros(count, 1, dtype=torch.int64, device=device)

    def _set_seed(self, seed: int | None) -> None:
        if seed is not None:
            torch.manual_seed(seed)

    def _reset(self, tensordict: TensorDictBase | None = None, **_: Any) -> TensorDictBase:
        mask = None if tensordict is None else tensordict.get("_reset", None)
        begin(torch.ones_like(self._steps, dtype=torch.bool) if mask is None else mask, self._state, self._steps)
        return TensorDict({"observation": self._state.clone()}, self.batch_size, device=self.device)

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        self._state.copy_(move(self._state, tensordict["action"]))
        self._steps.add_(1)
        terminated, truncated = ends(self._state, self._steps)
        found = {
            "observation": self._state.clone(),
            "reward": torch.ones_like(self._state[:, :1]),
            "done": terminated | truncated,
            "terminated": terminated,
            "truncated": truncated,
        }
        return TensorDict(found, self.batch_size, device=self.device)


class UndeclaredCartPoles(CartPoles):
    """The same environment without both declarations."""

    masked_reset = False
    capturable = False
