"""What a collector is asked for besides frames works with the fast loop as with TorchRL's."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from tensordict import TensorDictBase
from tensordict.nn import TensorDictModule
from tests.gym_envs import Chance, make_chance
from tests.unit.collectorfleet.actor.rollout.cases import linear_policy
from tests.unit.collectorfleet.actor.rollout.sides import Asked, assert_equal, sides
from torch import nn
from torchrl.envs import EnvBase, GymWrapper, SerialEnv

from collectorfleet.actor.build import build
from collectorfleet.actor.config import CollectorConfig, RolloutLoop
from collectorfleet.actor.inbox import Offer
from collectorfleet.actor.rollout.exact import FastLoopUnsupported
from collectorfleet.actor.server import CollectorServer
from collectorfleet.codec import snapshot as snapshots
from collectorfleet.messages import CollectorId, Raised, Request, Segment

C0 = CollectorId("c0", 1)


class Handing(nn.Module):
    """Hands on its input, and acts on a part of it."""

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return observation[..., :2], observation


class Clipping(Chance):
    """Writes into its action."""

    def step(self, action: Any) -> Any:
        action.clip(-0.1, 0.1, out=action)
        return super().step(action)


def two() -> EnvBase:
    return SerialEnv(2, make_chance)


def fast(env: Any, policy: Any = linear_policy, **more: Any) -> CollectorConfig:
    return CollectorConfig(env, None, 12, policy_factory=policy, rollout=RolloutLoop.FAST, **more)


def weights(value: float) -> snapshots.Snapshot:
    return snapshots.take({"module.weight": torch.full((2, 3), value), "module.bias": torch.zeros(2)})


def test_a_rollout_that_is_cut_short_is_padded_and_masked() -> None:
    runner = build(fast(two, cut_short=True), 0)
    runner.cut_short(1)
    cut = runner.run(Request(1, 12, 0))
    assert cut.batch is not None
    assert (cut.frames, cut.batch.shape) == (2, (2, 6))
    assert cut.batch["collector", "mask"].sum(1).tolist() == [1, 1]
    assert cut.batch["collector", "traj_ids"][:, 1:].eq(-1).all()
    assert runner.run(Request(2, 12, 0)).frames == 12


def test_weights_come_between_two_steps() -> None:
    class Offering(Chance):
        def step(self, action: Any) -> Any:
            if self._steps == 3:
                runner.inboxes["policy"].offer(Offer(2, weights(0.5)))
            return super().step(action)

    def offering() -> GymWrapper:
        return GymWrapper(Offering(ends=0.0))

    runner = build(fast(offering, update_between_steps=True), 0)
    runner.inboxes["policy"].offer(Offer(1, weights(0.0)))
    found = runner.run(Request(1, 12, 0))
    assert found.batch is not None
    assert found.segments == [Segment(0, 1), Segment(4, 2)]
    acted = found.batch["action"].ne(0).any(-1)
    assert acted.tolist() == [False] * 4 + [True] * 8


def test_hooks_see_each_batch_and_may_change_it() -> None:
    seen = []

    def mark(batch: TensorDictBase) -> None:
        seen.append(batch.numel())
        batch.set_non_tensor("words", "not a number")

    theirs, ours = sides(two, linear_policy, 12, post_collect_hook=mark, pre_collect_hook=lambda: seen.append(0))
    for side in (theirs, ours):
        assert side.run(Asked(6)).frames == side.run(Asked(6)).frames == 12
    assert seen == [0, 12] * 4


def test_an_environment_that_raises_is_named() -> None:
    server = CollectorServer(C0, fast(partial(make_chance, raises_at=5)))
    server.build(0, seed_environment=True)
    raised = server.run(Request(1, 12, 0))
    assert isinstance(raised, Raised)
    assert raised.where.startswith("environment ")
    assert (raised.cause, raised.by_environment) == ("ValueError: the game is broken", True)


def test_a_policy_that_raises_is_named() -> None:
    # TorchRL calls it when it builds the collector, unless it says its keys.
    class Late(nn.Linear):
        def forward(self, observation: torch.Tensor) -> torch.Tensor:
            if not building:
                raise ZeroDivisionError("the policy is broken")
            return super().forward(observation)

    building = True
    server = CollectorServer(C0, fast(make_chance, lambda: TensorDictModule(Late(3, 2), ["observation"], ["action"])))
    server.build(0, seed_environment=True)
    building = False
    raised = server.run(Request(1, 12, 0))
    assert isinstance(raised, Raised)
    assert (raised.where, raised.cause) == ("policy", "ZeroDivisionError: the policy is broken")


@pytest.mark.parametrize("together", [1, 3])
def test_a_policy_may_hand_on_what_it_is_given(together: int) -> None:
    def make_policy() -> TensorDictModule:
        return TensorDictModule(Handing(), ["observation"], ["action", "seen"])

    theirs, ours = sides(partial(SerialEnv, together, make_chance), make_policy, 12)
    for _ in range(3):
        assert_equal(theirs.run(Asked(9)), ours.run(Asked(9)))


@pytest.mark.parametrize("together", [0, 3])
def test_an_environment_may_write_into_its_action(together: int) -> None:
    def make() -> EnvBase:
        return SerialEnv(together, lambda: GymWrapper(Clipping())) if together else GymWrapper(Clipping())

    theirs, ours = sides(make, linear_policy, 12)
    for _ in range(3):
        assert_equal(theirs.run(Asked(9)), ours.run(Asked(9)))


def test_a_hook_that_comes_later_and_the_loop_would_not_call_is_refused() -> None:
    runner = build(fast(two), 0)
    runner.collector.policy.register_forward_hook(lambda *_: None)
    with pytest.raises(
        FastLoopUnsupported, match=r"a module of the policy has hooks \(TensorDictModule._forward_hooks has changed"
    ):
        runner.run(Request(1, 12, 0))


def test_torchrls_loop_steps_once_a_hook_has_come_and_the_answer_says_so() -> None:
    called: list[None] = []
    runner = build(replace(fast(two), rollout=RolloutLoop.AUTO), 0)
    assert runner.run(Request(1, 12, 0)).loop is None
    runner.collector.policy.register_forward_hook(lambda *_: called.append(None))
    changed = "TorchRL: a module of the policy has hooks (TensorDictModule._forward_hooks has changed)"
    assert runner.run(Request(2, 12, 0)).loop == changed
    assert len(called) == 6
    assert runner.run(Request(3, 12, 0)).loop is None
