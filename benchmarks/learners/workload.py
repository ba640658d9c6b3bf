"""Learners with the same work on both sides, and a policy with parts that act for different environments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import torch
from tensordict import TensorDictBase
from tensordict.nn import TensorDictModule
from torch import Tensor, nn

SAMPLED = 256  # frames that all learners together learn from for each batch


class Act(nn.Module):
    """The parameters of a policy that returns the same two numbers as its action, whatever it observes."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(2))


class Team(nn.Module):
    """A module with one part for each of the ``policies``. Each part acts in an equal share of the environments."""

    def __init__(self, policies: int) -> None:
        super().__init__()
        self.parts = nn.ModuleList(Act() for _ in range(policies))

    def forward(self, observation: Tensor) -> Tensor:
        each = observation.shape[0] // len(self.parts)
        return torch.cat([cast("Act", part).bias.expand(each, 2) for part in self.parts])


def team(policies: int) -> TensorDictModule:
    return TensorDictModule(Team(policies), in_keys=["observation"], out_keys=["action"])


class Regression:
    """A learner that fits the rewards with a layer of 64, and changes its policy's action a little each time.

    An observation has ``numbers`` numbers.
    """

    def __init__(self, numbers: int) -> None:
        self._act = Act()
        self._net = nn.Sequential(nn.Linear(numbers, 64), nn.ReLU(), nn.Linear(64, 1))
        self._sgd = torch.optim.SGD(self._net.parameters(), 1e-4)

    def learn(self, frames: TensorDictBase) -> None:
        seen = frames["observation"].flatten(1).float() / 255
        self._sgd.zero_grad()
        (self._net(seen) - frames["next", "reward"]).square().mean().backward()
        self._sgd.step()
        with torch.no_grad():
            self._act.bias.add_(1e-6)

    def weights(self) -> dict[str, Tensor]:
        return self._act.state_dict()


class InParts:
    """A function that splits the frames of a rollout by policy. The frames are ordered by environment."""

    def __init__(self, policies: int) -> None:
        self._policies = policies

    def __call__(self, frames: TensorDictBase) -> Mapping[str, TensorDictBase]:
        return {name_of(index): part for index, part in enumerate(frames.chunk(self._policies))}


def name_of(index: int) -> str:
    return f"p{index}"
