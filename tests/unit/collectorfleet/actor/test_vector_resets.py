"""A reset of all environments in a vector environment of Gymnasium begins with the new observations of all rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from tensordict.nn import TensorDictModule
from tests.unit.collectorfleet.actor.climbing import STEPS, Climb
from tests.unit.collectorfleet.actor.evaluation.played import offer, play, player
from tests.unit.collectorfleet.actor.rollout.cases import linear_policy
from torch import nn
from torchrl.collectors import MultiSyncCollector
from torchrl.envs import EnvBase, GymEnv, GymWrapper, RewardSum, SerialEnv, TransformedEnv

from collectorfleet.actor.build import build
from collectorfleet.actor.config import CollectorConfig, RolloutLoop
from collectorfleet.actor.rollouts import RolloutRunner
from collectorfleet.messages import Request

ROWS = 4  # the frames of a rollout divide into 2 and into 4 rows
RESETS = {"reset_at_each_iter": True}
each_loop = pytest.mark.parametrize("loop", [RolloutLoop.AUTO, RolloutLoop.TORCHRL])


class ShortClimb(Climb):
    """A climb whose episodes end after ``length`` steps. None: never."""

    def __init__(self, length: int | None) -> None:
        super().__init__()
        self._length, self._steps = length, 0

    def reset(self, **arguments: Any) -> tuple[np.ndarray, dict[str, Any]]:
        self._steps = 0
        return super().reset(**arguments)

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        seen, reward, _, _, infos = super().step(action)
        self._steps += 1
        return seen, reward, self._steps == self._length, False, infos


def vector() -> EnvBase:
    """Return two environments. The episodes of the first have ``STEPS`` steps. The other has one endless episode."""
    climbs = [partial(ShortClimb, STEPS), partial(ShortClimb, None)]
    return GymWrapper(SyncVectorEnv(climbs, autoreset_mode=AutoresetMode.SAME_STEP))


def transformed() -> EnvBase:
    return TransformedEnv(vector(), RewardSum())


VECTORS: dict[str, Callable[[], EnvBase]] = {
    "one": vector,
    "transformed": transformed,
    "several": partial(SerialEnv, 2, vector),
}
each_vector = pytest.mark.parametrize("make", VECTORS.values(), ids=VECTORS)

CALLS: dict[str, Callable[[RolloutRunner], Any]] = {
    "the fleet's set_seed": lambda runner: runner.set_seed(1, static_seed=False),
    "map_fn of env.reset": lambda runner: runner.execute("env.reset", (), {}),
    "a state that is loaded": lambda runner: runner.load_environment_state(runner.environment_state()),
}


def runner_of(make: Callable[[], EnvBase], loop: RolloutLoop = RolloutLoop.AUTO, **config: Any) -> RolloutRunner:
    policy = partial(linear_policy, 1)
    return build(CollectorConfig(make, None, ROWS * STEPS, policy_factory=policy, rollout=loop, **config), 0)


def assert_rollouts_of_true_transitions(runner: RolloutRunner, call: Callable[[RolloutRunner], Any]) -> None:
    """Call ``call`` before each of three rollouts, and assert that each frame is a true transition."""
    try:
        for _ in range(3):
            call(runner)
            batch = runner.run(Request(1, ROWS * STEPS, 0)).batch
            assert batch is not None
            batch = batch.clone().reshape(-1, batch.shape[-1])
            assert torch.equal(batch["next", "observation"], batch["observation"] + 1)
            assert (batch["next", "done"][:, -1].any(), batch["next", "done"][:, -1].all()) == (True, False)
    finally:
        runner.collector.shutdown()


@pytest.mark.filterwarnings("ignore:Nested TransformedEnvs")
@each_loop
@each_vector
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_frames_after_a_call_that_resets_a_vector_environment_are_true_transitions(
    make: Callable[[], EnvBase], loop: RolloutLoop, call: Callable[[RolloutRunner], Any]
) -> None:
    assert_rollouts_of_true_transitions(runner_of(make, loop), call)


@pytest.mark.filterwarnings("ignore:Nested TransformedEnvs")
@each_loop
@each_vector
def test_the_frames_of_rollouts_that_begin_with_a_reset_are_true_transitions(
    make: Callable[[], EnvBase], loop: RolloutLoop
) -> None:
    assert_rollouts_of_true_transitions(runner_of(make, loop, options=RESETS), lambda runner: None)


def test_the_processes_of_a_collector_begin_with_true_transitions_after_a_reset() -> None:
    runner = runner_of(vector, options=RESETS, collector_class=MultiSyncCollector, workers=1)
    assert_rollouts_of_true_transitions(runner, lambda runner: None)


# ---------------------------------------------------------------- evaluation
class Leaning(nn.Module):
    """Pushes the cart to the side that the pole leans to."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.tensor([0.0, 0.0, 1.0, 0.0]))

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        return ((observation * self.weights).sum(-1) > 0).long()


def leaning() -> TensorDictModule:
    return TensorDictModule(Leaning(), in_keys=["observation"], out_keys=["action"])


def carts() -> EnvBase:
    make = partial(gymnasium.make, "CartPole-v1")
    return GymWrapper(
        SyncVectorEnv([make] * 4, autoreset_mode=AutoresetMode.SAME_STEP), categorical_action_encoding=True
    )


def carts_that_reset_later() -> EnvBase:
    return GymEnv("CartPole-v1", num_envs=4, categorical_action_encoding=True)


@pytest.mark.parametrize("make", [carts, carts_that_reset_later])
def test_the_episodes_of_a_vector_environment_do_not_depend_on_earlier_episodes(make: Callable[[], EnvBase]) -> None:
    made = player(make, leaning())
    first = play(made, 0, offer(1, leaning()))
    assert [play(made, 0) for _ in range(2)] == [first] * 2
