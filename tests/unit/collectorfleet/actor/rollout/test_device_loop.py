"""Environments that are batches of tensors give TorchRL's frames, whether they are reset by the host or by a mask."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tensordict.nn import TensorDictModule
from tests import tensor_envs
from tests.unit.collectorfleet.actor.rollout.sides import Asked, assert_equal, sides
from torch import nn
from torchrl.envs import (
    Compose,
    EnvBase,
    ExplorationType,
    InitTracker,
    ObservationNorm,
    PendulumEnv,
    RewardSum,
    StepCounter,
    TransformedEnv,
)
from torchrl.modules import NormalParamExtractor, OneHotCategorical, ProbabilisticActor, TanhNormal

Make = Callable[[], EnvBase]


def transformed(make: Make, *transforms: Callable[[], Any]) -> EnvBase:
    return TransformedEnv(make(), Compose(*[transform() for transform in transforms]))


def pendulum() -> EnvBase:
    return PendulumEnv(batch_size=torch.Size([3]), seed=0)


NORMAL = partial(ObservationNorm, loc=0.5, scale=2.0, in_keys=["observation"])
COUNTED = (StepCounter, RewardSum, InitTracker)
MAKES: dict[str, Make] = {
    "reset by the host": partial(tensor_envs.Walks, 4),
    "reset by the mask": partial(tensor_envs.MaskedWalks, 4),
    "one": partial(tensor_envs.MaskedWalks, 1),
    "resets itself": partial(tensor_envs.SelfResettingWalks, 4),
    "resets itself, transformed": partial(transformed, partial(tensor_envs.SelfResettingWalks, 3), *COUNTED),
    "draws from torch": partial(tensor_envs.DrawingWalks, 4),
    "flat": partial(tensor_envs.FlatWalks, 4),
    "says done": partial(tensor_envs.MaskedWalks, 3, ("done",)),
    "says terminated": partial(tensor_envs.Walks, 3, ("terminated",)),
    "says terminated and truncated": partial(tensor_envs.MaskedWalks, 3, ("terminated", "truncated")),
    "transformed": partial(transformed, partial(tensor_envs.MaskedWalks, 3), NORMAL, *COUNTED),
    "truncated": partial(transformed, partial(tensor_envs.MaskedWalks, 3), partial(StepCounter, 3)),
}


def acting(*, draws: bool) -> Any:
    torch.manual_seed(7)
    if not draws:
        return TensorDictModule(nn.Sequential(nn.Linear(3, 2), nn.Tanh()), ["observation"], ["action"])
    layers = nn.Sequential(nn.Linear(3, 4), NormalParamExtractor())
    computing = TensorDictModule(layers, ["observation"], ["loc", "scale"])
    return ProbabilisticActor(computing, ["loc", "scale"], distribution_class=TanhNormal, return_log_prob=True)


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(data=st.data(), name=st.sampled_from(list(MAKES)), seed=st.integers(0, 2**20))
def test_frames_are_torchrls_entry_by_entry(data: st.DataObject, name: str, seed: int) -> None:
    policy = data.draw(st.sampled_from([None, partial(acting, draws=False), partial(acting, draws=True)]))
    counted = "transformed" in name or name == "truncated"
    options = {
        "max_frames_per_traj": None if counted else data.draw(st.none() | st.integers(2, 9)),
        "reset_at_each_iter": data.draw(st.booleans()),
        "exploration_type": data.draw(st.sampled_from([ExplorationType.RANDOM, ExplorationType.DETERMINISTIC])),
        "compact_obs": data.draw(st.booleans()),
        "set_truncated": "truncated" in name and data.draw(st.booleans()),
    }
    theirs, ours = sides(MAKES[name], policy, 24, seed, **options)
    assert ours.runner.loop == "Fast, with tensors on cpu"
    requests = st.builds(Asked, st.integers(1, 20), st.booleans(), st.none() | st.integers(1, 6))
    for asked in data.draw(st.lists(requests, min_size=1, max_size=4)):
        assert_equal(theirs.run(asked), ours.run(asked))
        assert theirs.random_state == ours.random_state
    if data.draw(st.booleans()):
        for side in (theirs, ours):
            side.do(lambda runner: runner.collector.reset())
    assert_equal(theirs.run(Asked(8)), ours.run(Asked(8)))
