"""Environments that cost next to nothing, and policies of a known size."""

from __future__ import annotations

from typing import Any

import torch
from tensordict import TensorDict, TensorDictBase
from tensordict.nn import TensorDictModule
from torch import Tensor, nn
from torchrl.data import Binary, Composite, Unbounded
from torchrl.envs import EnvBase


class Frames(EnvBase):
    """A batch of environments on ``device`` that never end. Observations are ``[envs, *shape]`` and always the same."""

    def __init__(self, envs: int, shape: tuple[int, ...], device: str) -> None:
        super().__init__(device=device, batch_size=torch.Size([envs]))
        dtype = torch.uint8 if len(shape) == 3 else torch.float32
        size = (envs, *shape)
        self.observation_spec = Composite(
            observation=Unbounded(size, dtype=dtype, device=device), shape=(envs,), device=device
        )
        self.action_spec = Composite(action=Unbounded((envs, 1), device=device), shape=(envs,), device=device)
        self.reward_spec = Composite(reward=Unbounded((envs, 1), device=device), shape=(envs,), device=device)
        self.done_spec = Binary(shape=(envs, 1), dtype=torch.bool, device=device)
        self._observation = torch.zeros(size, dtype=dtype, device=device)
        self._done = torch.zeros(envs, 1, dtype=torch.bool, device=device)
        self._reward = torch.ones(envs, 1, device=device)

    def _reset(self, tensordict: TensorDictBase | None = None, **_: Any) -> TensorDictBase:
        done = {"done": self._done.clone(), "terminated": self._done.clone()}
        entries = {"observation": self._observation.clone(), **done}
        return TensorDict(entries, batch_size=self.batch_size, device=self.device)

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        found = self._reset()
        found["reward"] = self._reward.clone()
        return found

    def _set_seed(self, seed: int | None) -> None:
        del seed


class _Act(nn.Module):
    """Returns the same number as the action of each environment. Acting does not use the ``count`` further tensors."""

    def __init__(self, count: int, numbers: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(1))
        self.rest = nn.ParameterList(nn.Parameter(torch.randn(numbers)) for _ in range(count))

    def forward(self, observation: Tensor) -> Tensor:
        envs = observation.shape[: observation.ndim - (3 if observation.dtype == torch.uint8 else 1)]
        return self.bias.expand(*envs, 1)


def policy(count: int = 0, numbers: int = 0) -> TensorDictModule:
    """Return a policy with ``count`` tensors of ``numbers`` float32 each that acting does not use."""
    return TensorDictModule(_Act(count, numbers), in_keys=["observation"], out_keys=["action"])
