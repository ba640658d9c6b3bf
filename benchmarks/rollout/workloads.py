"""Environments by name, and a policy of 64 by 64 for each, as TorchRL has it and as its bare parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from tensordict.nn import TensorDictModule
from torch import Tensor, nn
from torchrl.envs import EnvBase, GymWrapper, SerialEnv
from torchrl.modules import NormalParamExtractor, OneHotCategorical, ProbabilisticActor, TanhNormal


class Image(gymnasium.Env[np.ndarray, Any]):
    """Observes 84 by 84 pixels in four frames, which cost nothing, and is over after 200 steps."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}
    _LENGTH = 200

    def __init__(self) -> None:
        self.observation_space = Box(0, 255, (84, 84, 4), np.uint8)
        self.action_space = Box(-1, 1, (2,), np.float32)
        self._seen = np.zeros((84, 84, 4), np.uint8)
        self._steps = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        self._steps = 0
        return self._seen, {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self._steps += 1
        return self._seen, 1.0, False, self._steps >= self._LENGTH, {}


class Few(nn.Module):
    """Few of the pixels, so that the policy costs as much as that of other environments."""

    def forward(self, pixels: Tensor) -> Tensor:
        return pixels[..., 0, :8, 0].float()


@dataclass(frozen=True)
class Workload:
    make: Callable[[], gymnasium.Env[Any, Any]]
    observation: str
    inputs: int
    choices: int = 0  # of a discrete action
    actions: int = 0  # numbers of a continuous one
    before: Callable[[], nn.Module] = nn.Identity

    def environment(self, together: int) -> EnvBase:
        def one() -> EnvBase:
            return GymWrapper(self.make())

        return SerialEnv(together, one) if together > 1 else one()

    def network(self) -> nn.Sequential:
        outputs = self.choices or 2 * self.actions
        layers = [nn.Linear(self.inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs)]
        return nn.Sequential(self.before(), *layers, *([] if self.choices else [NormalParamExtractor()]))

    def policy(self) -> ProbabilisticActor:
        names = ["logits"] if self.choices else ["loc", "scale"]
        computing = TensorDictModule(self.network(), [self.observation], names)
        kind = OneHotCategorical if self.choices else TanhNormal
        return ProbabilisticActor(computing, in_keys=names, distribution_class=kind)

    def act(self, network: nn.Sequential, observation: Tensor) -> list[Any]:
        """What each environment is to do, by the same distributions."""
        if self.choices:
            drawn = OneHotCategorical(logits=network(observation)).sample()
            return list(drawn.argmax(-1).tolist())
        loc, scale = network(observation)
        return list(TanhNormal(loc=loc, scale=scale).rsample().numpy())


def _gym(name: str) -> Callable[[], gymnasium.Env[Any, Any]]:
    return partial(gymnasium.make, name, disable_env_checker=True)


class _Single(nn.Module):
    def forward(self, observation: Tensor) -> Tensor:
        return observation.float()


WORKLOADS: dict[str, Workload] = {
    "CartPole": Workload(_gym("CartPole-v1"), "observation", 4, choices=2),
    "Pendulum": Workload(_gym("Pendulum-v1"), "observation", 3, actions=1),
    "HalfCheetah": Workload(_gym("HalfCheetah-v5"), "observation", 17, actions=6, before=_Single),
    "image": Workload(Image, "observation", 8, actions=2, before=Few),
}
