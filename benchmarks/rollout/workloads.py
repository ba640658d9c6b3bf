"""Environments by name, and a policy of 64 by 64 for each: as TorchRL's actor, and as its network and distribution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import gymnasium
from tensordict.nn import TensorDictModule
from torch import Tensor, nn
from torchrl.envs import EnvBase, GymWrapper, SerialEnv
from torchrl.modules import NormalParamExtractor, OneHotCategorical, ProbabilisticActor, TanhNormal

from benchmarks.rollout.environments import MAKES


class Few(nn.Module):
    """Returns 8 of the pixels, so that the policy costs as much as the policies of other environments."""

    def forward(self, pixels: Tensor) -> Tensor:
        return pixels[..., 0, :8, 0].float()


class Runs(Protocol):
    """What the fleet's loop needs of a workload."""

    def environment(self, together: int) -> EnvBase: ...
    def policy(self) -> ProbabilisticActor: ...


@dataclass(frozen=True)
class Workload:
    """An environment with its policy. ``inputs`` is the number of inputs of the policy's network."""

    make: Callable[[], gymnasium.Env[Any, Any]]
    observation: str
    inputs: int
    choices: int = 0  # of a discrete action
    actions: int = 0  # numbers of a continuous one
    before: Callable[[], nn.Module] = nn.Identity

    def environment(self, together: int) -> EnvBase:
        """Return ``together`` environments that step together in this process."""

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
        """Return the action of each environment, drawn from the distribution that the policy uses."""
        if self.choices:
            drawn = OneHotCategorical(logits=network(observation)).sample()
            return list(drawn.argmax(-1).tolist())
        loc, scale = network(observation)
        return list(TanhNormal(loc=loc, scale=scale).rsample().numpy())


class _Single(nn.Module):
    def forward(self, observation: Tensor) -> Tensor:
        return observation.float()


WORKLOADS: dict[str, Workload] = {
    "CartPole": Workload(MAKES["CartPole"], "observation", 4, choices=2),
    "Pendulum": Workload(MAKES["Pendulum"], "observation", 3, actions=1),
    "HalfCheetah": Workload(MAKES["HalfCheetah"], "observation", 17, actions=6, before=_Single),
    "image": Workload(MAKES["image"], "observation", 8, actions=2, before=Few),
}
