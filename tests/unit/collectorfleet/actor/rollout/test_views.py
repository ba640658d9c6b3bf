"""Frames show the action that acted, also if the policy returns memory that changes later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from tensordict import TensorDictBase
from tensordict.nn import TensorDictModule
from tests import envs
from tests.gym_envs import Chance
from torch import nn
from torchrl.envs import EnvBase, GymWrapper

from collectorfleet.actor.build import build
from collectorfleet.actor.config import CollectorConfig, RolloutLoop
from collectorfleet.actor.inbox import Offer
from collectorfleet.codec import snapshot as snapshots
from collectorfleet.messages import POLICY, Request

STEPS = 24


class Paying(envs.Counting):
    """Rewards what it was asked to do; ``after_step`` is called once it has."""

    after_step: Callable[[], None] = staticmethod(lambda: None)

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        stepped = super()._step(tensordict)
        self.after_step()
        return stepped


class GymPaying(Chance):
    after_step: Callable[[], None] = staticmethod(lambda: None)

    def step(self, action: Any) -> Any:
        seen, _, *others = super().step(action)
        paid = float(np.sum(action))
        self.after_step()
        return (seen, paid, *others)


class Constant(nn.Module):
    """Acts by its one parameter."""

    def __init__(self, outputs: Callable[[Constant], torch.Tensor]) -> None:
        super().__init__()
        self.value = nn.Parameter(torch.zeros(2))
        self.held = torch.zeros(2)
        self._said = outputs

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        del observation
        return self._said(self)


SAID: dict[str, Callable[[Constant], torch.Tensor]] = {
    "the parameter": lambda policy: policy.value,
    "a view": lambda policy: policy.value[:1].expand(2),
    "its data": lambda policy: policy.value.data,
    "an array's memory": lambda policy: torch.from_numpy(policy.value.detach().numpy()),
}
HELD: dict[str, Callable[[Constant], torch.Tensor]] = {
    "a tensor that it fills again": lambda policy: policy.held.copy_(policy.value.data),
    "a part of one": lambda policy: policy.held.copy_(policy.value.data)[:],
}


def acted(
    env: EnvBase, inner: Any, outputs: Callable[[Constant], torch.Tensor], loop: RolloutLoop
) -> tuple[torch.Tensor, torch.Tensor]:
    """What frames say was done, and what the environment was asked to do; weights come after each second step."""
    policy = TensorDictModule(Constant(outputs), ["observation"], ["action"])
    published = TensorDictModule(Constant(outputs), ["observation"], ["action"])
    runner = build(CollectorConfig(env, policy, STEPS, update_between_steps=True, rollout=loop), 1)
    inbox, steps = runner.inboxes[POLICY], [0]

    def publish() -> None:
        steps[0] += 1
        if steps[0] % 2 == 0:
            with torch.no_grad():
                published.module.value.fill_(steps[0])
            inbox.offer(Offer(steps[0], snapshots.take(snapshots.by_every_name(published))))

    inner.after_step = publish
    batch = runner.run(Request(1, STEPS, 0)).batch
    assert batch is not None
    return batch["action"].sum(-1), batch["next", "reward"].squeeze(-1)


def made(name: str) -> tuple[EnvBase, Any]:
    if name == "own":
        env = Paying(length=7)
        return env, env
    inner = GymPaying()
    return GymWrapper(inner), inner


@pytest.mark.parametrize("loop", [RolloutLoop.FAST, RolloutLoop.TORCHRL])
@pytest.mark.parametrize("env", ["own", "Gymnasium"])
@pytest.mark.parametrize("outputs", SAID.values(), ids=SAID)
def test_frames_show_the_action_that_acted(
    outputs: Callable[[Constant], torch.Tensor], env: str, loop: RolloutLoop
) -> None:
    shown, asked = acted(*made(env), outputs, loop)
    assert torch.equal(shown, asked)
    assert len(asked.unique()) > STEPS // 4  # weights did come


@pytest.mark.parametrize("env", ["own", "Gymnasium"])
@pytest.mark.parametrize("outputs", HELD.values(), ids=HELD)
def test_the_fast_loop_shows_it_also_if_the_policy_fills_one_tensor_again(
    outputs: Callable[[Constant], torch.Tensor], env: str
) -> None:
    shown, asked = acted(*made(env), outputs, RolloutLoop.FAST)
    assert torch.equal(shown, asked)
