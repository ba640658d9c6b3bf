"""What runs in collectors on a GPU, and tells by its frames where it ran."""

from __future__ import annotations

from typing import Any

import torch
from tensordict import TensorDict, TensorDictBase
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.data import Binary, Bounded, Composite, Unbounded
from torchrl.envs import EnvBase
from torchrl.modules import NormalParamExtractor, ProbabilisticActor, TanhNormal

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
    """Allocates each of ``shares`` of the GPU's memory in turn at each step; ``fits`` says which allocations worked."""

    def __init__(self, *shares: float) -> None:
        super().__init__()
        self._shares = shares
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        fits = torch.tensor([float(_fits(share, observation.device)) for share in self._shares])
        torch.cuda.empty_cache()  # for the neighbours
        leading = observation.shape[:-1]
        return self.weight.expand(*leading, 1), fits.to(observation.device).expand(*leading, len(self._shares))


def _fits(share: float, device: torch.device) -> bool:
    try:
        allocated(share, device)
    except torch.cuda.OutOfMemoryError:
        return False
    return True


def allocated(share: float, device: torch.device) -> torch.Tensor:
    """Return a tensor that takes ``share`` of the memory that CUDA reports. Raises OutOfMemoryError."""
    total = torch.cuda.get_device_properties(device).total_memory
    return torch.empty(int(total * share), dtype=torch.uint8, device=device)


class Holding(nn.Module):
    """Keeps ``share`` of the GPU's memory from its first step on; ``holds`` is 1."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self._share = share
        self._held: torch.Tensor | None = None
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if self._held is None:
            self._held = allocated(self._share, observation.device)
        shape = (*observation.shape[:-1], 1)
        return self.weight.expand(shape), torch.ones(shape, device=observation.device)


class Scaled(nn.Module):
    """The action is the one parameter; no observation is negative, which a compiler cannot know."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        return self.weight + observation[..., :1].clamp(max=0)

    @staticmethod
    def counts() -> dict[str, int]:
        """Return how many graphs torch.compile made here, and how many inputs were recorded by CUDA graphs."""
        from torch._dynamo.utils import counters

        recorded = counters["inductor"]["cudagraph_recorded_non_static_inputs"]
        return {"graphs": counters["stats"]["unique_graphs"], "recorded": recorded}


class Captured(Scaled):
    """``captured`` is 1 if the frame comes from a recorded CUDA graph."""

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:  # type: ignore[override]
        action = super().forward(observation)
        # Python runs while the graph is recorded, and not when the graph is replayed.
        capturing = observation.is_cuda and torch.cuda.is_current_stream_capturing()
        return action, torch.full_like(action, float(capturing))


class Learner:
    """Learns the mean of what it sees, on the GPU."""

    def __init__(self) -> None:
        self.value = nn.Parameter(torch.zeros(1, device=DEVICE))
        self._adam = torch.optim.Adam([self.value], lr=0.1)

    def learn(self, frames: TensorDictBase) -> float:
        loss = (self.value - frames["x"].to(DEVICE)).square().mean()
        self._adam.zero_grad()
        loss.backward()
        self._adam.step()
        return loss.item()

    def device(self) -> str:
        """The device of the optimizer's state."""
        return str(self._adam.state[self.value]["exp_avg"].device.type)

    def memory_fraction(self) -> float:
        return float(torch.cuda.get_per_process_memory_fraction())

    def weights(self) -> dict[str, torch.Tensor]:
        return {"value": self.value.detach().cpu()}


def constant() -> TensorDictModule:
    return TensorDictModule(Constant(), in_keys=["observation"], out_keys=["action", "where"])


def filling(*shares: float) -> TensorDictModule:
    return TensorDictModule(Filling(*shares), in_keys=["observation"], out_keys=["action", "fits"])


def holding(share: float) -> TensorDictModule:
    return TensorDictModule(Holding(share), in_keys=["observation"], out_keys=["action", "holds"])


def scaled() -> TensorDictModule:
    return TensorDictModule(Scaled(), in_keys=["observation"], out_keys=["action"])


def captured() -> TensorDictModule:
    return TensorDictModule(Captured(), in_keys=["observation"], out_keys=["action", "captured"])


def bounded(device: str) -> ProbabilisticActor:
    """Return a policy that has its spec and the bounds of its actions on ``device``, and acts between -1 and 1."""
    network = nn.Sequential(nn.Linear(3, 2), NormalParamExtractor())
    low = -torch.ones(1, device=device)
    return ProbabilisticActor(
        TensorDictModule(network, in_keys=["observation"], out_keys=["loc", "scale"]),
        in_keys=["loc", "scale"],
        spec=Bounded(-1, 1, shape=(1,), device=device),
        distribution_class=TanhNormal,
        distribution_kwargs={"low": low, "high": -low},
    ).to(device)
