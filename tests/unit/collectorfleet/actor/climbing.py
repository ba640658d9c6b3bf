"""Environments whose observation grows by one with each step, so a frame shows whether it is a true transition."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Box
from tensordict import TensorDict, TensorDictBase
from tests.unit.collectorfleet.actor.rollout.cases import linear_policy
from torchrl.data import Binary, Composite, Unbounded
from torchrl.envs import (
    EnvBase,
    GymWrapper,
    SerialEnv,
    StepCounter,
    TransformedEnv,
)

from collectorfleet.actor.build import build
from collectorfleet.actor.config import CollectorConfig, RolloutLoop
from collectorfleet.actor.rollouts import RolloutRunner
from collectorfleet.messages import Request

STEPS = 6


class Climb(gymnasium.Env[np.ndarray, Any]):
    """Observes a number that begins anywhere and grows by one with each step."""

    def __init__(self, pays: float = 0.0) -> None:
        self._pays = pays
        self.observation_space = Box(-np.inf, np.inf, (1,), np.float32)
        self.action_space = Box(-1, 1, (2,), np.float32)
        self.level = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self._height = float(self.np_random.integers(0, 100_000))
        return np.array([self._height], np.float32), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self._height += 1
        return np.array([self._height], np.float32), self._pays, False, False, {}

    def begin_at(self, level: int) -> None:
        self.level = level
        self.reset()


class OwnClimb(EnvBase):
    """The same as an environment of TorchRL's; its seed sets its state."""

    def __init__(self) -> None:
        super().__init__(device="cpu", batch_size=torch.Size([]))
        self.observation_spec = Composite(observation=Unbounded(shape=(1,)))
        self.action_spec = Unbounded(shape=(2,))
        self.reward_spec = Unbounded(shape=(1,))
        self.done_spec = Binary(shape=(1,), dtype=torch.bool)
        self.level = 0
        self._random = np.random.default_rng()

    def _reset(self, tensordict: TensorDictBase | None = None, **_: Any) -> TensorDictBase:
        self._height = float(self._random.integers(0, 100_000))
        return TensorDict({"observation": torch.tensor([self._height])}, batch_size=[])

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        self._height += 1
        seen = {"observation": torch.tensor([self._height]), "reward": torch.zeros(1), "done": torch.zeros(1).bool()}
        return TensorDict(seen, batch_size=[])

    def _set_seed(self, seed: int | None) -> None:
        self._random = np.random.default_rng(seed)
        self.reset()

    def begin_at(self, level: int) -> None:
        self.level = level
        self.reset()


def gym() -> EnvBase:
    return GymWrapper(Climb())


def with_a_limit() -> EnvBase:
    return TransformedEnv(gym(), StepCounter(4))


def several() -> EnvBase:
    return SerialEnv(3, gym)


def runner_of(make: Callable[[], EnvBase], loop: RolloutLoop = RolloutLoop.FAST) -> RolloutRunner:
    return build(CollectorConfig(make, None, STEPS, policy_factory=partial(linear_policy, 1), rollout=loop), 0)


def rolled_out(runner: RolloutRunner) -> TensorDictBase:
    """The next rollout, ``[environments, steps]``."""
    environments = getattr(runner.collector, "n_env", 1)  # a collector of several processes does not say it
    batch = runner.run(Request(1, STEPS * environments, 0)).batch
    assert batch is not None
    return batch.clone().reshape(-1, STEPS)


def assert_true_transitions(batch: TensorDictBase) -> None:
    assert torch.equal(batch["next", "observation"], batch["observation"] + 1)
