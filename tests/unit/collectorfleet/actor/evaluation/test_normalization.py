"""An evaluated version is normalized with its own statistics, which an evaluation does not change."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from tensordict import TensorDictBase
from tests import envs
from tests.unit.collectorfleet.actor.evaluation.played import offer, play, player
from tests.unit.collectorfleet.actor.normalization.normalized import (
    normalization,
    see,
    statistics,
    vec_norm,
    vec_norm_v2,
)
from torch import Tensor
from torchrl.envs import (
    Compose,
    EnvBase,
    ObservationNorm,
    RewardScaling,
    SerialEnv,
    Transform,
    TransformedEnv,
    VecNorm,
    VecNormV2,
)

from collectorfleet.actor.evaluation.player import EpisodePlayer
from collectorfleet.actor.normalization.search import transforms_of
from collectorfleet.actor.origin import Origin, origin_of
from collectorfleet.codec import normalization as codec
from collectorfleet.codec.snapshot import digest
from collectorfleet.errors import InvalidOption
from collectorfleet.normalization import Normalization


def of_observations(decay: float) -> Transform:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # there is a newer one
        return VecNorm(in_keys=["observation"], decay=decay)


def of_observations_v2(decay: float) -> Transform:
    return VecNormV2(in_keys=["observation"], decay=decay)


BOTH = [pytest.param(of_observations, id="VecNorm"), pytest.param(of_observations_v2, id="VecNormV2")]


def counting(*transforms: Transform) -> TransformedEnv:
    return TransformedEnv(envs.Counting(length=6), Compose(*transforms))


def collected(env: EnvBase, steps: int) -> Normalization:
    """What a collector tells after so many steps in its environment."""
    kept = normalization(env)
    see(env, steps)
    return kept.now()


def observed(made: EpisodePlayer) -> list[float]:
    """The observations of an episode, as the policy got them."""
    seen: list[float] = []
    act = made._act

    def acting(tensordict: TensorDictBase) -> TensorDictBase:
        seen.append(tensordict["observation"].flatten()[0].item())
        return act(tensordict)

    made._act = acting
    try:
        play(made)
    finally:
        made._act = act
    return seen


def kept(made: EpisodePlayer) -> Any:
    (transform,) = (one for one in transforms_of(made._env) if not isinstance(one, ObservationNorm))
    return statistics(transform)


@pytest.mark.parametrize("transform", BOTH)
def test_an_evaluation_does_not_change_the_statistics(transform: Callable[[float], Transform]) -> None:
    made = player(lambda: counting(transform(0.9)))
    play(made, offered=offer(1, envs.make_policy(), collected(counting(transform(0.9)), 20)))
    before = kept(made)
    first = observed(made)
    assert (kept(made) == before).all()
    assert observed(made) == first


@pytest.mark.parametrize("transform", BOTH)
def test_the_statistics_are_those_that_collectors_published_with_the_version(
    transform: Callable[[float], Transform],
) -> None:
    made = player(lambda: counting(transform(0.9)))
    for version, steps in ((1, 5), (2, 40), (3, 11)):
        training = counting(transform(0.9))
        published = collected(training, steps)
        play(made, offered=offer(version, envs.make_policy(), published))
        assert (kept(made) == statistics(training.transform[0])).all()
        applied = made.inboxes["policy"].next_applied(0)
        weights = offer(version, envs.make_policy()).weights.arrays
        assert applied == (version, f"{digest(weights)}+{digest(codec.encode(published).arrays)}")


def test_environments_that_are_stepped_together_have_the_statistics_of_the_version_too() -> None:
    published = collected(counting(vec_norm_v2(0.9)), 20)
    alone = player(lambda: counting(of_observations_v2(0.9)))
    play(alone, offered=offer(1, envs.make_policy(), published))
    made = player(lambda: SerialEnv(3, lambda: counting(of_observations_v2(0.9))))
    play(made, offered=offer(1, envs.make_policy(), published))
    assert observed(made) == observed(alone)


def test_an_environment_without_the_statistics_of_observations_is_refused() -> None:
    published = collected(counting(vec_norm_v2(0.9)), 5)
    with pytest.raises(InvalidOption) as refused:
        play(player(), offered=offer(1, envs.make_policy(), published))
    assert str(refused.value) == (
        "evaluation: the training environment publishes the statistics ['0.VecNormV2.observation'], but the evaluation "
        "environment has []; give both environments the same transforms of observations"
    )
    assert origin_of(refused.value) is Origin.OPTIONS


def test_an_environment_with_other_statistics_is_refused() -> None:
    made = player(lambda: counting(VecNormV2(in_keys=["observation"])))
    published = collected(counting(ObservationNorm(1.0, 2.0, in_keys=["observation"])), 5)
    with pytest.raises(InvalidOption, match="give both environments the same transforms of observations"):
        play(made, offered=offer(1, envs.make_policy(), published))


def test_an_environment_with_statistics_that_the_training_does_not_have_is_refused() -> None:
    made = player(lambda: counting(VecNormV2(in_keys=["observation"])))
    with pytest.raises(InvalidOption) as refused:
        play(made, offered=offer(1, envs.make_policy()))
    assert str(refused.value) == (
        "evaluation: the evaluation environment has statistics (0.VecNormV2.observation), but the training environment "
        "publishes none; give both environments the same transforms of observations"
    )
    assert origin_of(refused.value) is Origin.OPTIONS


def test_statistics_of_rewards_may_be_missing() -> None:
    """So that returns are those of the environment, and not normalized ones."""
    published = collected(counting(vec_norm_v2(0.9)), 20)
    made = player(lambda: counting(VecNormV2(in_keys=["observation"], decay=0.9)))
    found = play(made, offered=offer(1, envs.make_policy(1.0), published))
    assert found.returns == (12.0,)
    version, said = made.inboxes["policy"].next_applied(0)  # type: ignore[misc]
    assert (version, said.partition("+")[2]) == (1, digest(codec.encode(published).arrays))


@pytest.mark.parametrize("transform", [vec_norm, vec_norm_v2])
def test_running_statistics_of_rewards_are_refused(transform: Callable[[float], Transform]) -> None:
    """Or a constant policy would have another return with each version."""
    with pytest.raises(InvalidOption, match=r"reward normalizes rewards by statistics that change with each version"):
        player(lambda: counting(transform(0.9)))


def test_a_scale_of_rewards_may_be_left_out_before_the_statistics_of_observations() -> None:
    published = collected(counting(RewardScaling(0.0, 10.0), of_observations_v2(0.9)), 20)
    made = player(lambda: counting(of_observations_v2(0.9)))
    assert play(made, offered=offer(1, envs.make_policy(1.0), published)).returns == (12.0,)
    alone = player(lambda: counting(of_observations_v2(0.9)))
    play(alone, offered=offer(1, envs.make_policy(), collected(counting(of_observations_v2(0.9)), 20)))
    assert observed(made) == observed(alone)


def test_a_scale_of_rewards_is_that_of_the_evaluation_environment() -> None:
    published = collected(counting(RewardScaling(0.0, 10.0)), 1)
    made = player(lambda: counting(RewardScaling(0.0, 2.0)))
    assert play(made, offered=offer(1, envs.make_policy(1.0), published)).returns == (24.0,)


def test_places_count_where_a_transform_is_there_twice() -> None:
    twice = (ObservationNorm(1.0, 2.0, in_keys=["observation"]), ObservationNorm(0.0, 3.0, in_keys=["observation"]))
    published = collected(counting(*twice), 1)
    made = player(lambda: counting(*(ObservationNorm(0.0, 1.0, in_keys=["observation"]) for _ in range(2))))
    play(made, offered=offer(1, envs.make_policy(), published))
    assert observed(made)[:2] == [3.0, 9.0]


def test_constants_are_those_of_the_training() -> None:
    made = player(lambda: counting(ObservationNorm(0.0, 1.0, in_keys=["observation"])))
    published = collected(counting(ObservationNorm(1.0, 10.0, in_keys=["observation"])), 1)
    play(made, offered=offer(1, envs.make_policy(), published))
    assert observed(made) == [1.0, 11.0, 21.0, 31.0, 41.0, 51.0]


def test_constants_that_the_fleet_does_not_publish_stay_those_of_the_environment() -> None:
    made = player(lambda: counting(ObservationNorm(0.0, 3.0, in_keys=["observation"])), own_constants=True)
    play(made, offered=offer(1, envs.make_policy()))
    assert observed(made) == [0.0, 3.0, 6.0, 9.0, 12.0, 15.0]


class Total(Transform):
    """A transform of the user's: subtracts the sum of all observations so far. Nothing freezes it."""

    total: Tensor

    def __init__(self) -> None:
        super().__init__(in_keys=["observation"], out_keys=["observation"])
        self.register_buffer("total", torch.zeros(()))
        self.updates = 0

    def _apply_transform(self, obs: Tensor) -> Tensor:
        self.updates += 1
        self.total += obs.flatten()[0]
        return obs - self.total

    def _reset(self, tensordict: TensorDictBase, tensordict_reset: TensorDictBase) -> TensorDictBase:
        return self._call(tensordict_reset)

    def running_statistics(self) -> tuple[int, dict[str, Tensor]]:
        return self.updates, {"total": self.total}

    def load_running_statistics(self, updates: int, sums: dict[str, Tensor]) -> None:
        self.updates = updates
        self.total.copy_(sums["total"])


def test_statistics_of_a_transform_of_the_users_begin_each_episode_as_those_of_the_version() -> None:
    made = player(lambda: counting(Total()))
    published = collected(counting(Total()), 3)
    play(made, offered=offer(1, envs.make_policy(), published))
    assert observed(made) == observed(made)


def test_transforms_are_found_in_environments_that_have_not_started() -> None:
    env = SerialEnv(2, lambda: counting(VecNormV2(in_keys=["observation"])))
    assert len(list(transforms_of(env))) == 2
    env.close()
