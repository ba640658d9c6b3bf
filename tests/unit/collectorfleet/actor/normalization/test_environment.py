"""What an environment keeps is found wherever it is, told once, and proven when it is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from tensordict import TensorDictBase
from tests import envs
from tests.unit.collectorfleet.actor.normalization.normalized import (
    Playback,
    environment,
    normalization,
    see,
    vec_norm,
    vec_norm_v2,
)
from torch import Tensor, nn
from torchrl.envs import (
    Compose,
    EnvCreator,
    ObservationNorm,
    RewardScaling,
    SerialEnv,
    Transform,
    TransformedEnv,
    VecNormV2,
)
from torchrl.envs.transforms import RNDTransform

from collectorfleet.actor.normalization.environment import EnvironmentNormalization
from collectorfleet.codec import normalization as codec
from collectorfleet.codec import snapshot as snapshots
from collectorfleet.errors import InvalidOption

OBSERVATION = "0.VecNormV2.observation"


class LargestReward(Transform):
    """Divides rewards by the mean of their size: a transform of a user's."""

    def __init__(self) -> None:
        super().__init__(in_keys=["reward"], out_keys=["reward"])
        self.updates, self.total = 0, torch.zeros(1)

    def _step(self, tensordict: TensorDictBase, next_tensordict: TensorDictBase) -> TensorDictBase:
        reward = next_tensordict["reward"]
        self.updates += 1
        self.total += reward.abs()
        return next_tensordict.set("reward", reward * self.updates / self.total)

    def running_statistics(self) -> tuple[int, Mapping[str, Tensor]]:
        return self.updates, {"total": self.total}

    def load_running_statistics(self, updates: int, sums: Mapping[str, Tensor]) -> None:
        self.updates = updates
        self.total.copy_(sums["total"])


def v2(numbers: range = range(50)) -> TransformedEnv:
    return environment(vec_norm_v2(1.0), numbers)


def test_an_environment_that_normalizes_nothing_keeps_nothing() -> None:
    assert EnvironmentNormalization.of(envs.Counting(), constants=True) is None


def test_constants_are_no_contribution_and_may_be_ones_own() -> None:
    transforms = Compose(ObservationNorm(1.0, 2.0, in_keys=["observation"]), RewardScaling(0.0, 0.5))
    env = TransformedEnv(envs.Counting(), transforms)
    found = normalization(env)
    see(env, 5)
    assert list(found.now()) == ["0.ObservationNorm.observation", "1.RewardScaling.reward"]
    assert found.contribution() is None
    assert EnvironmentNormalization.of(env, constants=False) is None


def test_a_contribution_is_told_once() -> None:
    env = v2()
    found = normalization(env)
    see(env, 2)
    contribution = found.contribution()
    assert contribution is not None
    assert contribution[OBSERVATION].updates == 3
    assert found.contribution() is None


def test_what_was_seen_before_another_version_came_is_told_although_it_is_replaced() -> None:
    env = v2()
    found = normalization(env)
    begun = codec.encode(found.now())
    see(env, 2)
    found.load(begun)
    assert int(env.transform[0]._count["observation"]) == 0
    see(env, 2)
    contribution = found.contribution()
    assert contribution is not None
    assert contribution[OBSERVATION].updates == 6
    np.testing.assert_allclose(contribution[OBSERVATION].sums["loc"], sum(range(6)), rtol=1e-6)


def test_a_state_that_somebody_loads_is_no_contribution() -> None:
    env, other = v2(), v2()
    found = normalization(env)
    see(other, 5)
    env.transform.load_state_dict(other.transform.state_dict())
    found.reset_base()
    assert found.contribution() is None


@pytest.mark.parametrize("make", [vec_norm, vec_norm_v2], ids=["VecNorm", "VecNormV2"])
@pytest.mark.parametrize("decay", [0.99, 1.0])
def test_what_is_loaded_is_proven_by_its_digest(make: Any, decay: float) -> None:
    env, other = environment(make(decay), range(0, 100, 7)), environment(make(decay))
    seen = normalization(env)
    see(env, 7)
    snapshot = codec.encode(seen.now())
    assert normalization(other).load(snapshot) == snapshots.digest(snapshot.arrays)


class Deaf(LargestReward):
    """Takes nothing."""

    def load_running_statistics(self, updates: int, sums: Mapping[str, Tensor]) -> None: ...


def test_what_did_not_arrive_has_another_digest() -> None:
    env = TransformedEnv(Playback(range(1, 20)), Deaf())
    found = normalization(env)
    begun = codec.encode(found.now())
    see(env, 2)
    assert found.load(begun) != snapshots.digest(begun.arrays)


def test_environments_that_are_stepped_together_each_count() -> None:
    env = SerialEnv(2, partial(v2, range(50)))
    found = normalization(env)
    see(env, 2)
    contribution = found.contribution()
    assert contribution is not None
    assert contribution[OBSERVATION].updates == 2 * 3
    found.load(codec.encode(contribution))
    assert [int(one.transform[0]._count["observation"]) for one in env._envs] == [6, 6]


def test_what_is_around_them_has_the_name_that_it_has_around_one() -> None:
    def reward(env: Any) -> TransformedEnv:
        return TransformedEnv(env, RewardScaling(0.0, 0.5), auto_unwrap=True)

    names = ["0.VecNormV2.observation", "0.VecNormV2.reward", "1.RewardScaling.reward"]
    assert list(normalization(reward(v2())).now()) == names
    assert list(normalization(reward(SerialEnv(2, v2))).now()) == names


def test_environments_that_share_their_memory_count_once() -> None:
    env = SerialEnv(2, EnvCreator(partial(v2, range(50))))
    found = normalization(env)
    see(env, 2)
    contribution = found.contribution()
    assert contribution is not None
    assert contribution[OBSERVATION].updates == 2 * 3


def test_environments_of_different_kinds_keep_theirs_apart() -> None:
    env = SerialEnv(2, [partial(v2, range(9)), partial(v2, range(9))])
    assert {name.split(".")[0] for name in normalization(env).now()} == {"env0", "env1"}


def test_a_key_that_the_environment_does_not_have_is_left_out() -> None:
    transform = vec_norm(1.0)
    transform.in_keys = transform.out_keys = ["observation", "pixels"]
    assert list(normalization(environment(transform)).now()) == ["0.VecNorm.observation"]


def test_what_is_not_finite_is_said_and_not_told() -> None:
    env = environment(vec_norm_v2(1.0), [1.0, float("nan"), 2.0])
    found = normalization(env)
    see(env, 2)
    with pytest.raises(ValueError, match=r"0\.VecNormV2\.observation: .* not finite"):
        found.contribution()


def test_statistics_that_are_in_the_data_are_refused() -> None:
    env = TransformedEnv(envs.Counting(), VecNormV2(in_keys=["observation"], stateful=False))
    with pytest.raises(InvalidOption, match=r"VecNormV2 \(observation\): with stateful=False"):
        normalization(env)


def test_running_means_of_a_distillation_are_refused() -> None:
    networks = nn.Linear(3, 2), nn.Linear(3, 2)
    env = TransformedEnv(envs.Counting(), RNDTransform(*networks))
    with pytest.raises(
        InvalidOption, match=r"RNDTransform \(observation\): each collector would have separate running means"
    ):
        normalization(env)


def test_a_transform_of_the_user_gives_and_takes_its_own() -> None:
    env = TransformedEnv(Playback(range(1, 20)), LargestReward())
    found = normalization(env)
    see(env, 2)
    contribution = found.contribution()
    assert contribution is not None
    one = contribution["0.LargestReward.reward"]
    assert (one.decay, one.updates, one.sums["total"].tolist()) == (1.0, 2, [2.0 + 3.0])
    snapshot = codec.encode(contribution)
    assert found.load(snapshot) == snapshots.digest(snapshot.arrays)
    assert found.contribution() is None
