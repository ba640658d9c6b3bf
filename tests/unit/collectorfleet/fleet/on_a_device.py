"""A policy and frames on another device than the CPU leave it for readers without one; a process of its own."""

from __future__ import annotations

from typing import Any

import torch
from tensordict import TensorDictBase
from tensordict.nn import TensorDictModule
from tests import pretended_device
from tests.gym_envs import make_chance
from torch import Tensor, nn
from torchrl.data import Bounded, TensorSpec
from torchrl.modules import EGreedyModule, NormalParamExtractor, ProbabilisticActor, TanhNormal

from collectorfleet.actor.build import build
from collectorfleet.actor.config import CollectorConfig
from collectorfleet.codec.settings import move_settings
from collectorfleet.fleet.weights import WeightsSource
from collectorfleet.messages import Request

NAME = pretended_device.NAME


class Kept:
    """A replay buffer."""

    def __init__(self) -> None:
        self.frames: list[TensorDictBase] = []

    def extend(self, frames: TensorDictBase) -> None:
        self.frames.append(frames)


def acting() -> TensorDictModule:
    return TensorDictModule(nn.Linear(3, 2), ["observation"], ["action"])


def bounded() -> nn.Module:
    network = nn.Sequential(nn.Linear(3, 2), NormalParamExtractor())
    low = torch.tensor([-1.0])
    actor = ProbabilisticActor(
        TensorDictModule(network, ["observation"], ["loc", "scale"]),
        in_keys=["loc", "scale"],
        spec=Bounded(-1, 1, shape=(1,)),
        distribution_class=TanhNormal,
        distribution_kwargs={"low": low, "high": -low, "tanh_loc": True},
    )
    return nn.ModuleList([actor, EGreedyModule(Bounded(-1, 1, shape=(1,)))])


def devices(policy: nn.Module) -> set[str]:
    """Where the policy is: parameters, buffers, specs, and the tensors that set its distributions."""
    found = {tensor.device.type for tensor in (*policy.parameters(), *policy.buffers())}
    for module in policy.modules():
        settings: list[Any] = [*vars(module).values(), *vars(module).get("distribution_kwargs", {}).values()]
        found |= {
            one.device.type for one in settings if isinstance(one, TensorSpec | Tensor) and one.device is not None
        }
    return found


def main() -> None:
    pretended_device.set_up()
    policy = bounded().to(NAME)
    move_settings(policy, NAME)
    assert devices(policy) == {NAME}
    sent = WeightsSource(policy, {}, dtype=None, names=None).for_collectors()
    assert devices(sent) == {"cpu"}
    assert devices(policy) == {NAME}
    print("sent from the CPU")

    buffer = Kept()
    options = {"device": NAME, "env_device": "cpu", "storing_device": NAME}
    runner = build(CollectorConfig(make_chance, acting(), 10, replay_buffer=buffer, options=options), 1)
    for number in (1, 2):
        assert runner.run(Request(number, 10, 0)).batch is None
    for frames in buffer.frames:
        assert {tensor.device.type for tensor in frames.values(True, True)} == {"cpu"}
        assert frames.shape == (10,)
    assert len(buffer.frames) == 2
    print("written from the CPU")


if __name__ == "__main__":
    main()
