"""EnvPool's own environments below TorchRL's wrapper, in both loops."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from tensordict.nn import TensorDictModule
from tests.unit.collectorfleet.actor.rollout.sides import Asked, assert_equal, sides
from torch import nn
from torchrl.envs import EnvBase, GymWrapper, RewardSum, StepCounter, TransformedEnv
from torchrl.modules import NormalParamExtractor, OneHotCategorical, ProbabilisticActor, TanhNormal

from collectorfleet import EnvPool, FleetCollector, InvalidOption

SEEN = {"CartPole-v1": 4, "Pendulum-v1": 3, "HalfCheetah-v4": 17}


def made(task: str, **options: Any) -> EnvBase:
    return TransformedEnv(TransformedEnv(GymWrapper(EnvPool(task, 3, **options)), RewardSum()), StepCounter(40))


class Single(nn.Module):
    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        return observation.float()


def begun(random_seed: int, **options: Any) -> np.ndarray:
    random.seed(random_seed)
    pool = EnvPool("CartPole-v1", 3, **options)
    first: np.ndarray = pool.reset()[0].copy()
    pool.close()
    return first


def acting(task: str) -> ProbabilisticActor:
    torch.manual_seed(3)
    numbers = {"Pendulum-v1": 1, "HalfCheetah-v4": 6}.get(task)
    last = nn.Linear(SEEN[task], 2 * (numbers or 1))
    network = nn.Sequential(Single(), last, *([NormalParamExtractor()] if numbers else []))
    names = ["loc", "scale"] if numbers else ["logits"]
    kind = TanhNormal if numbers else OneHotCategorical
    return ProbabilisticActor(TensorDictModule(network, ["observation"], names), in_keys=names, distribution_class=kind)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("task", SEEN)
def test_frames_are_torchrls_and_have_the_last_observation(task: str) -> None:
    theirs, ours = sides(partial(made, task), partial(acting, task), 300, seed=5)
    assert ours.runner.loop == "Fast"
    ended = 0
    for asked in (Asked(100), Asked(40, cut_after=20), Asked(50, random=True), Asked(100)):
        left, right = theirs.run(asked), ours.run(asked)
        assert_equal(left, right)
        frames = right.batch
        assert frames is not None
        done = frames["next", "done"].squeeze(-1)
        ended += int(done.sum())
        # No step begins where another one ended, and none sees zeros.
        assert (frames["next", "observation"][done].abs().sum(-1) > 0).all()
        within = ~done[:, :-1] & (frames["collector", "traj_ids"][:, 1:] >= 0)
        after, begun = frames["next", "observation"][:, :-1][within], frames["observation"][:, 1:][within]
        assert torch.equal(after, begun)
    assert ended > 3


@pytest.mark.filterwarnings("ignore")
def test_a_seed_makes_the_same_episodes_and_another_one_others() -> None:
    pool = EnvPool("CartPole-v1", 4)
    first, again, other = (pool.reset(seed=seed)[0].copy() for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert len(np.unique(first[:, 0])) == 4
    pool.close()


@pytest.mark.filterwarnings("ignore")
def test_without_a_seed_the_seed_of_the_process_decides() -> None:
    first, again, other = (begun(random_seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.isclose(first, other).any()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("given", [{"seed": 5}, {"env_seed": [5, 6, 7]}], ids=["seed", "env_seed"])
def test_a_given_seed_is_used_in_each_process(given: dict[str, Any]) -> None:
    assert np.array_equal(begun(random_seed=1, **given), begun(random_seed=2, **given))


@pytest.mark.filterwarnings("ignore")
def test_only_those_that_are_asked_for_are_reset() -> None:
    pool = EnvPool("CartPole-v1", 3)
    pool.reset(seed=1)
    seen = pool.step(np.zeros(3, np.int64))[0].copy()
    after, infos = pool.reset(options={"reset_mask": np.array([False, True, False])})
    assert np.array_equal(after[[0, 2]], seen[[0, 2]])
    assert not np.array_equal(after[1], seen[1])
    assert infos == {}
    pool.close()


def test_some_of_the_environments_at_a_time_are_refused() -> None:
    with pytest.raises(InvalidOption, match="EnvPool CartPole-v1: with batch_size=2, each step advances only 2 of 4"):
        EnvPool("CartPole-v1", 4, batch_size=2)


@pytest.mark.filterwarnings("ignore")
def test_a_fleet_collects_from_it() -> None:
    fleet = FleetCollector(
        partial(made, "CartPole-v1"),
        policy_factory=partial(acting, "CartPole-v1"),
        transport="torch_distributed",
        num_collectors=2,
        frames_per_batch=240,
        total_frames=960,
        sync=True,
    )
    try:
        batches = [batch.clone() for batch in fleet]
    finally:
        fleet.shutdown()
    assert sum(batch.numel() for batch in batches) == 960
    # Collectors have seeds of their own.
    first, second = batches[0]["observation"][:, :, 0].double()
    assert first.shape == second.shape == (3, 4)
    assert not torch.isclose(first, second).any()
