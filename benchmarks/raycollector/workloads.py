"""Environments and policies of a known, small cost, so that a benchmark measures the collector."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from tensordict import TensorDict, TensorDictBase
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.data import Bounded, Composite, Unbounded
from torchrl.envs import EnvBase

from benchmarks.common.patience import answer_with_stacks

PIXELS = (4, 84, 84)


def compute(seconds: float) -> None:
    """Keep the core of this thread busy for ``seconds``, like a learner without a GPU."""
    matrix, end = torch.ones(64, 64), time.perf_counter() + seconds
    while time.perf_counter() < end:
        matrix = (matrix @ matrix).clamp(-1, 1)


class CheapEnv(EnvBase):
    """A batch of environments that never end. A step costs next to nothing, or sleeps for ``sleep_seconds``.

    Observations are ``[envs, *shape]``: uint8 pixels if ``shape`` has three dimensions, otherwise float32 vectors.
    """

    def __init__(self, envs: int, shape: tuple[int, ...], sleep_seconds: float = 0.0) -> None:
        super().__init__(batch_size=torch.Size([envs]))
        pixels = len(shape) == 3
        self._sleep_seconds = sleep_seconds
        size = (envs, *shape)
        spec = Bounded(0, 255, size, dtype=torch.uint8) if pixels else Unbounded(size)
        self.observation_spec = Composite(observation=spec, shape=(envs,))
        self.action_spec = Composite(action=Unbounded((envs, 2)), shape=(envs,))
        self.reward_spec = Composite(reward=Unbounded((envs, 1)), shape=(envs,))
        self._observation = torch.zeros(size, dtype=torch.uint8 if pixels else torch.float32)
        self._done = torch.zeros(envs, 1, dtype=torch.bool)
        self._reward = torch.ones(envs, 1)

    def _reset(self, tensordict: TensorDictBase | None = None, **_: Any) -> TensorDictBase:
        done = {"done": self._done.clone(), "terminated": self._done.clone()}
        return TensorDict({"observation": self._observation.clone(), **done}, batch_size=self.batch_size)

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        if self._sleep_seconds:
            time.sleep(self._sleep_seconds)
        out = self._reset()
        out["reward"] = self._reward.clone()
        return out

    def _set_seed(self, seed: int | None) -> None:
        del seed


class Environments:
    """A factory of :class:`CheapEnv`. It can be pickled, which a closure cannot."""

    def __init__(self, envs: int, shape: tuple[int, ...], step_seconds: float) -> None:
        self._arguments = (envs, shape, step_seconds)

    def __call__(self) -> EnvBase:
        answer_with_stacks()  # here, because the factory runs in the worker
        return CheapEnv(*self._arguments)


def environment(*, pixels: bool = False, envs: int = 1, step_seconds: float = 0.0) -> Environments:
    return Environments(envs, PIXELS if pixels else (4,), step_seconds)


class _Act(nn.Module):
    """Returns two numbers as the action of each environment, whatever it observes. They are the only parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(2))

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        envs = observation.shape[: observation.ndim - (3 if observation.dtype == torch.uint8 else 1)]
        return self.bias.expand(*envs, 2)


def cheap_policy() -> TensorDictModule:
    return TensorDictModule(_Act(), in_keys=["observation"], out_keys=["action"])


class _Large(_Act):
    """The same policy with 195 unused tensors. Each tensor has ``numbers`` values of type float32."""

    def __init__(self, numbers: int) -> None:
        super().__init__()
        self.rest = nn.ParameterList(nn.Parameter(torch.randn(numbers)) for _ in range(195))


def large_policy(numbers: int) -> TensorDictModule:
    return TensorDictModule(_Large(numbers), in_keys=["observation"], out_keys=["action"])


POLICIES: dict[str, Callable[[], TensorDictModule]] = {
    "cheap": cheap_policy,
    "25 MB": partial(large_policy, 32_000),
    "250 MB": partial(large_policy, 320_000),
}
