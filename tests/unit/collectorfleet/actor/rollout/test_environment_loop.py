"""Environments that only TorchRL steps give TorchRL's frames, whatever their transforms."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tensordict.nn import TensorDictModule
from tests import envs
from tests.example_count import examples
from tests.gym_envs import Masked, make_chance
from tests.unit.collectorfleet.actor.rollout.cases import STATISTICS, bounded_policy, several_kinds, transformed
from tests.unit.collectorfleet.actor.rollout.sides import Asked, assert_equal, compare, sides
from torch import nn
from torchrl.envs import (
    ActionMask,
    EnvBase,
    ExplorationType,
    GymWrapper,
    InitTracker,
    ParallelEnv,
    PendulumEnv,
    RewardClipping,
    RewardSum,
    SerialEnv,
    StepCounter,
    TicTacToeEnv,
)
from torchrl.modules import MaskedCategorical, MaskedOneHotCategorical, ProbabilisticActor

HIGHEST = partial(RewardClipping, -0.5, 0.5)
MAKES: dict[str, tuple[Callable[[], EnvBase], str, int]] = {
    "counting": (envs.make_counting, "observation", 3),
    "several kinds": (several_kinds, "observation", 3),
    "statistics": (partial(transformed, make_chance, STATISTICS, RewardSum), "observation", 3),
    "statistics of several": (partial(SerialEnv, 2, partial(transformed, make_chance, STATISTICS)), "observation", 3),
    "clipped rewards": (
        partial(transformed, partial(SerialEnv, 3, make_chance), HIGHEST, InitTracker),
        "observation",
        3,
    ),
}


@pytest.mark.filterwarnings("ignore:Nested TransformedEnvs")
@settings(max_examples=examples(15), suppress_health_check=list(HealthCheck))
@given(data=st.data(), name=st.sampled_from(list(MAKES)), seed=st.integers(0, 2**20))
def test_frames_are_torchrls_entry_by_entry(data: st.DataObject, name: str, seed: int) -> None:
    make, key, inputs = MAKES[name]
    policy = data.draw(
        st.sampled_from(
            [None, partial(bounded_policy, key, inputs, draws=False), partial(bounded_policy, key, inputs, draws=True)]
        )
    )
    options = {
        "max_frames_per_traj": data.draw(st.none() | st.integers(2, 9)),
        "reset_at_each_iter": data.draw(st.booleans()),
        "exploration_type": data.draw(st.sampled_from([ExplorationType.RANDOM, ExplorationType.DETERMINISTIC])),
        "compact_obs": data.draw(st.booleans()),
    }
    theirs, ours = sides(make, policy, 24, seed, **options)
    assert ours.runner.loop.startswith("Fast, by the environment's own step: ")
    requests = st.builds(Asked, st.integers(1, 20), st.booleans(), st.none() | st.integers(1, 6))
    compare(theirs, ours, data.draw(st.lists(requests, min_size=1, max_size=4)))
    if data.draw(st.booleans()):
        for side in (theirs, ours):
            side.do(lambda runner: runner.collector.reset())
    assert_equal(theirs.run(Asked(8)), ours.run(Asked(8)))


def masked(*, by_number: bool) -> EnvBase:
    def make() -> EnvBase:
        return GymWrapper(Masked(), categorical_action_encoding=by_number)

    return transformed(make, ActionMask, partial(StepCounter, 7))


def masked_policy(*, by_number: bool) -> Any:
    torch.manual_seed(7)
    return ProbabilisticActor(
        TensorDictModule(nn.Linear(3, 4), ["observation"], ["logits"]),
        in_keys={"logits": "logits", "mask": "action_mask"},
        distribution_class=MaskedCategorical if by_number else MaskedOneHotCategorical,
        return_log_prob=True,
    )


@pytest.mark.filterwarnings("ignore:Nested TransformedEnvs")
@settings(max_examples=examples(10), suppress_health_check=list(HealthCheck))
@given(data=st.data(), together=st.integers(0, 3), by_number=st.booleans(), seed=st.integers(0, 2**20))
def test_masked_actions_are_torchrls_and_allowed(
    data: st.DataObject, together: int, by_number: bool, seed: int
) -> None:
    make: Callable[[], EnvBase] = partial(masked, by_number=by_number)
    make = partial(SerialEnv, together, make) if together else make
    policy = data.draw(st.sampled_from([None, partial(masked_policy, by_number=by_number)]))
    theirs, ours = sides(make, policy, 24, seed, reset_at_each_iter=data.draw(st.booleans()))
    assert ours.runner.loop.startswith("Fast, by the environment's own step: ")
    requests = st.builds(Asked, st.integers(1, 20), st.booleans(), st.none() | st.integers(1, 6))
    for asked in data.draw(st.lists(requests, min_size=1, max_size=4)):
        left, right = theirs.run(asked), ours.run(asked)
        assert_equal(left, right)
        if policy is not None and not asked.random:
            assert right.batch is not None
            taken = right.batch["action"]
            taken = nn.functional.one_hot(taken, 4) if by_number else taken
            made = right.batch["collector", "traj_ids"] >= 0
            assert (taken.bool() & right.batch["action_mask"])[made].any(-1).all()


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(partial(ParallelEnv, 2, make_chance), id="processes"),
        pytest.param(partial(PendulumEnv, seed=0), id="a state"),
        pytest.param(TicTacToeEnv, id="two players"),
    ],
)
def test_torchrls_own_environments(make: Callable[[], EnvBase]) -> None:
    theirs, ours = sides(make, None, 24)
    try:
        assert ours.runner.loop.startswith("Fast, by the environment's own step: ")
        for asked in (Asked(12), Asked(9, cut_after=4), Asked(12, random=True), Asked(12)):
            assert_equal(theirs.run(asked), ours.run(asked))
    finally:
        for side in (theirs, ours):
            side.runner.collector.shutdown()
