"""Define environments with a parameter ``level``. Each observation has the level, so a frame shows its parameter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Box
from tensordict import TensorDict, TensorDictBase
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.data import Binary, Composite, Unbounded
from torchrl.envs import EnvBase, GymWrapper, ParallelEnv, SerialEnv

# The lengths of successive episodes, in turn.
LENGTHS = (3, 5, 2, 7)


class Levels(gymnasium.Env[np.ndarray, np.ndarray]):
    """Observes ``[level, steps of the episode]``. ``offset`` shifts which of ``LENGTHS`` is the first."""

    def __init__(self, offset: int = 0) -> None:
        self.observation_space = Box(-1e6, 1e6, (2,), np.float32)
        self.action_space = Box(-1.0, 1.0, (1,), np.float32)
        self.level = 0.0
        self._episode = offset
        self._steps = 0

    def _seen(self) -> np.ndarray:
        return np.array([self.level, self._steps], np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._episode += 1
        self._steps = 0
        return self._seen(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self._steps += 1
        return self._seen(), 1.0, self._steps >= LENGTHS[self._episode % len(LENGTHS)], False, {}


class WithMethod(Levels):
    """Gets its level from a method, which refuses levels below -1."""

    def set_parameters(self, level: float) -> None:
        if level < -1:
            raise ValueError(f"there is no level {level}")
        self.level = level


class WithOptions(Levels):
    """Gets its level from the options of each reset; 0 without options."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        self.level = float((options or {}).get("level", 0.0))
        return super().reset(seed=seed)


class Native(EnvBase):
    """Behaves as :class:`WithMethod`, but is an environment of TorchRL and accepts each level."""

    def __init__(self, offset: int = 0) -> None:
        super().__init__(device="cpu", batch_size=torch.Size([]))
        self.observation_spec = Composite(observation=Unbounded(shape=(2,)))
        self.action_spec = Unbounded(shape=(1,))
        self.reward_spec = Unbounded(shape=(1,))
        self.done_spec = Binary(shape=(1,), dtype=torch.bool)
        self.level = 0.0
        self._episode = offset
        self._count = 0

    def set_parameters(self, level: float) -> None:
        self.level = level

    def _seen(self) -> torch.Tensor:
        return torch.tensor([self.level, float(self._count)])

    def _reset(self, tensordict: TensorDictBase | None = None, **_: Any) -> TensorDictBase:
        self._episode += 1
        self._count = 0
        return TensorDict({"observation": self._seen()}, batch_size=[])

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        self._count += 1
        done = self._count >= LENGTHS[self._episode % len(LENGTHS)]
        return TensorDict(
            {"observation": self._seen(), "reward": torch.ones(1), "done": torch.tensor([done])}, batch_size=[]
        )

    def _set_seed(self, seed: int | None) -> None:
        pass


class Batch(EnvBase):
    """Two environments in one, with one level for both. Their episodes never end."""

    def __init__(self) -> None:
        super().__init__(device="cpu", batch_size=torch.Size([2]))
        self.observation_spec = Composite(observation=Unbounded(shape=(2, 2)), shape=(2,))
        self.action_spec = Unbounded(shape=(2, 1))
        self.reward_spec = Unbounded(shape=(2, 1))
        self.done_spec = Binary(shape=(2, 1), dtype=torch.bool)
        self.level = 0.0

    def set_parameters(self, level: float) -> None:
        self.level = level

    def _reset(self, tensordict: TensorDictBase | None = None, **_: Any) -> TensorDictBase:
        return TensorDict({"observation": torch.full((2, 2), self.level)}, batch_size=[2])

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        return TensorDict(
            {
                "observation": torch.full((2, 2), self.level),
                "reward": torch.ones(2, 1),
                "done": torch.zeros(2, 1, dtype=torch.bool),
            },
            batch_size=[2],
        )

    def _set_seed(self, seed: int | None) -> None:
        pass


def make_method(offset: int = 0) -> EnvBase:
    return GymWrapper(WithMethod(offset))


def make_attribute(offset: int = 0) -> EnvBase:
    """Return an environment whose level is a plain attribute below a wrapper of Gymnasium."""
    return GymWrapper(gymnasium.wrappers.TimeLimit(Levels(offset), 100))


def make_options(offset: int = 0) -> EnvBase:
    return GymWrapper(WithOptions(offset))


def make_native(offset: int = 0) -> EnvBase:
    return Native(offset)


def make_batch() -> EnvBase:
    return Batch()


def serial_of(create: Callable[[], EnvBase]) -> Callable[[], EnvBase]:
    return lambda: SerialEnv(2, create)


def parallel_of(create: Callable[[], EnvBase]) -> Callable[[], EnvBase]:
    return lambda: ParallelEnv(2, create)


def make_serial() -> EnvBase:
    return SerialEnv(2, [make_method, make_method], create_env_kwargs=[{"offset": 0}, {"offset": 1}])


def make_parallel() -> EnvBase:
    return ParallelEnv(2, [make_method, make_method], create_env_kwargs=[{"offset": 0}, {"offset": 1}])


def make_started_parallel() -> EnvBase:
    env = make_parallel()
    env.reset()
    return env


def curriculum(result: Any, parameters: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the next level after each evaluation, up to 3; then None."""
    level = parameters.get("level", 0)
    return {"level": level + 1} if level < 3 else None


def make_policy() -> TensorDictModule:
    return TensorDictModule(nn.Linear(2, 1), in_keys=["observation"], out_keys=["action"])
