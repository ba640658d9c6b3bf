"""What runs in collectors on a GPU, and tells by its frames where it ran."""

from __future__ import annotations

from typing import Any

import torch
from tensordict import TensorDict, TensorDictBase
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.data import Binary, Composite, Unbounded
from torchrl.envs import EnvBase

DEVICE = "cuda"


class Doubling(EnvBase):
    """The reward is twice the action, of which ``observation`` counts how many there were."""

    def __init__(self, device: str = DEVICE) -> None:
        super().__init__(device=device, batch_size=torch.Size([]))
        self.observation_spec = Composite(observation=Unbounded(shape=(3,), device=device), device=device)
        self.action_spec = Unbounded(shape=(1,), device=device)
        self.reward_spec = Unbounded(shape=(1,), device=device)
        self.done_spec = Binary(shape=(1,), dtype=torch.bool, device=device)
        self._count = 0

    def _reset(self, tensordict: TensorDictBase | None = None, **_: Any) -> TensorDictBase:
        self._count = 0
        return self._observed()

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        self._count += 1
        found = self._observed()
        found["reward"] = 2 * tensordict["action"]
        found["done"] = torch.zeros(1, dtype=torch.bool, device=self.device)
        found["terminated"] = found["done"].clone()
        return found

    def _observed(self) -> TensorDictBase:
        count = torch.full((3,), float(self._count), device=self.device)
        return TensorDict({"observation": count}, batch_size=[], device=self.device)

    def _set_seed(self, seed: int | None) -> None:
        pass


class Constant(nn.Module):
    """The action is the one parameter; ``where`` is 1 on a GPU, and 0 elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        both = observation.is_cuda and self.weight.is_cuda
        shape = (*observation.shape[:-1], 1)
        return self.weight.expand(shape), torch.full(shape, float(both), device=observation.device)


class Filling(nn.Module):
    """Takes ``share`` of the GPU's memory at each step; ``fits`` is whether it got it."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self._share = share
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        total = torch.cuda.get_device_properties(observation.device).total_memory
        try:
            torch.empty(int(total * self._share), dtype=torch.uint8, device=observation.device)
            fits = True
        except torch.cuda.OutOfMemoryError:
            fits = False
        torch.cuda.empty_cache()  # for the neighbours
        shape = (*observation.shape[:-1], 1)
        return self.weight.expand(shape), torch.full(shape, float(fits), device=observation.device)


def constant() -> TensorDictModule:
    return TensorDictModule(Constant(), in_keys=["observation"], out_keys=["action", "where"])


def filling(share: float) -> TensorDictModule:
    return TensorDictModule(Filling(share), in_keys=["observation"], out_keys=["action", "fits"])
