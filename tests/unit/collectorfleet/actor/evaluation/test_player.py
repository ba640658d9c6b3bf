"""Episodes of an evaluator: from their seed to their end, with one version, however many are stepped together."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given
from hypothesis import strategies as st
from tensordict import TensorDictBase
from tensordict.nn import NormalParamExtractor, TensorDictModule, TensorDictSequential
from tests import envs
from tests.unit.collectorfleet.actor.climbing import Climb
from tests.unit.collectorfleet.actor.evaluation.played import Agents, offer, play, player
from tests.unit.collectorfleet.actor.rollout.cases import linear_policy
from torch import nn
from torch.distributions import Normal
from torchrl.envs import Compose, EnvBase, GymWrapper, InitTracker, SerialEnv, StepCounter, TransformedEnv
from torchrl.envs.utils import ExplorationType
from torchrl.modules import LSTMModule, ProbabilisticActor

from collectorfleet.actor.origin import Origin, origin_of
from collectorfleet.actor.seeds import seed_of_batch
from collectorfleet.messages import Request

RANDOM = {"options": {"exploration_type": ExplorationType.RANDOM}}


# ---------------------------------------------------------------- episodes
def test_an_episode_is_played_from_its_first_step_to_its_last() -> None:
    made = player(partial(envs.make_counting, length=7))
    found = play(made, offered=offer(3, envs.make_policy(1.5)))
    assert (found.returns, found.lengths) == ((21.0,), (7,))


def test_each_environment_that_is_stepped_together_plays_one_episode_however_short() -> None:
    made = player(partial(SerialEnv, 3, [partial(envs.make_counting, length=length) for length in (2, 9, 4)]))
    for version in (1, 2):
        found = play(made, offered=offer(version, envs.make_policy(float(version))))
        assert found.lengths == (2, 9, 4)
        assert found.returns == tuple(2.0 * version * length for length in (2, 9, 4))


def test_short_episodes_do_not_count_more_often_than_long_ones() -> None:
    creators = [partial(envs.make_counting, length=length) for length in (5, 95) * 8]
    found = play(player(partial(SerialEnv, 16, creators)))
    assert found.lengths == (5, 95) * 8
    assert sum(found.lengths) / 16 == 50


def test_an_episode_is_cut_at_the_limit_of_the_training() -> None:
    made = player(partial(envs.make_counting, length=50), options={"max_frames_per_traj": 8})
    assert play(made).lengths == (8,)


@pytest.mark.parametrize("limit", [None, 0, -1])
def test_without_a_limit_an_episode_is_played_to_its_end(limit: int | None) -> None:
    made = player(partial(envs.make_counting, length=50), options={"max_frames_per_traj": limit})
    assert play(made).lengths == (50,)


def test_the_limit_holds_for_each_environment_that_is_stepped_together() -> None:
    creators = [partial(envs.make_counting, length=length) for length in (3, 50)]
    made = player(partial(SerialEnv, 2, creators), options={"max_frames_per_traj": 8})
    assert play(made).lengths == (3, 8)


def test_an_environment_with_a_limit_of_its_own_keeps_it() -> None:
    def limited() -> TransformedEnv:
        return TransformedEnv(envs.Counting(length=50), StepCounter(max_steps=20))

    assert play(player(limited, options={"max_frames_per_traj": 8})).lengths == (20,)


def steps(tensordict: TensorDictBase) -> TensorDictBase:
    return tensordict.set(("agents", "action"), torch.zeros(*tensordict["agents"].shape, 2))


@pytest.mark.parametrize("says", [True, False], ids=["one done for all", "a done for each"])
def test_the_return_of_several_agents_is_their_mean_until_all_have_been_done(says: bool) -> None:
    made = player(partial(Agents, (2, 5), says=says), steps)
    found = play(made)
    assert (found.lengths, found.returns) == ((5,), (7.5,))


# ---------------------------------------------------------------- seeds
def test_an_episode_depends_on_its_seed_and_on_nothing_that_was_played_before() -> None:
    made, other = player(envs.Drawn), player(envs.Drawn)
    played = {seed: play(made, seed) for seed in range(8)}
    assert {seed: play(other, seed) for seed in reversed(range(8))} == dict(reversed(played.items()))
    assert len(set(played.values())) == 2


class Paying(Climb):
    """Ends with its first step, and pays the height that it reaches."""

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        seen, *_, infos = super().step(action)
        return seen, float(seen[0]), True, False, infos


def paying(rows: int) -> EnvBase:
    return GymWrapper(SyncVectorEnv([Paying] * rows, autoreset_mode=AutoresetMode.SAME_STEP))


@pytest.mark.parametrize("rows", [2, 3, 16])
def test_the_rows_of_neighboring_seeds_play_different_episodes(rows: int) -> None:
    made = player(partial(paying, rows), linear_policy(1))
    weights = offer(1, linear_policy(1))
    paid = [one for seed in range(3) for one in play(made, seed, weights).returns]
    assert len(set(paid)) == len(paid) == 3 * rows


@given(st.lists(st.integers(0, 2**20), min_size=2, max_size=2, unique=True), st.integers(1, 1024))
def test_the_rows_of_two_seeds_get_different_seeds(seeds: list[int], rows: int) -> None:
    first, second = (seed_of_batch(seed, rows) for seed in seeds)
    assert abs(first - second) >= rows


@given(st.integers(0, 2**31 - 1), st.integers(2, 4096))
def test_the_seed_of_every_row_is_one_that_each_simulator_accepts(seed: int, rows: int) -> None:
    assert seed_of_batch(seed, 1) == seed
    assert 0 <= seed_of_batch(seed, rows) < 2**31 - rows


class Noisy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.value = nn.Parameter(torch.ones(1))

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        return torch.cat([self.value.expand(*observation.shape[:-1], 2), torch.zeros(*observation.shape[:-1], 2)], -1)


def gaussian() -> Any:
    """Its deterministic action is 1, and the random ones lie around it."""
    net = TensorDictModule(
        nn.Sequential(Noisy(), NormalParamExtractor()), in_keys=["observation"], out_keys=["loc", "scale"]
    )
    return ProbabilisticActor(net, in_keys=["loc", "scale"], out_keys=["action"], distribution_class=Normal)


def test_random_actions_are_repeated_with_their_seed() -> None:
    made, other = player(policy=gaussian(), **RANDOM), player(policy=gaussian(), **RANDOM)
    first = [play(made, seed).returns for seed in (1, 2, 1)]
    torch.rand(100)
    assert first == [play(other, seed).returns for seed in (1, 2, 1)]
    assert first[0] == first[2] != first[1]


def test_actions_are_deterministic_unless_asked_otherwise() -> None:
    assert play(player(policy=gaussian()), 1).returns == pytest.approx((20.0,))


def test_global_random_states_belong_to_the_episode() -> None:
    """As for environments that draw from numpy, ``random`` and torch."""

    class Draws(envs.Drawing):
        def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
            found = super()._step(tensordict)
            return found.set("reward", found["observation"].sum(-1, keepdim=True))

    made, other = player(Draws), player(Draws)
    first = [play(made, seed).returns for seed in (3, 4)]
    assert [play(other, seed).returns for seed in (4, 3)] == first[::-1]
    assert first[0] != first[1]


# ---------------------------------------------------------------- policies
def test_a_plain_module_is_a_policy() -> None:
    found = play(player(policy=envs.Constant()), offered=offer(1, envs.Constant(2.0)))
    assert found.returns == (40.0,)


class Dropping(envs.Constant):
    def __init__(self, value: float = 0.0) -> None:
        super().__init__(value)
        self.dropout = nn.Dropout(0.5)

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        return self.dropout(super().forward(observation))


def test_modules_are_in_evaluation_mode() -> None:
    assert play(player(policy=Dropping()), offered=offer(1, Dropping(1.0))).returns == (20.0,)


def recurrent() -> tuple[Any, LSTMModule]:
    torch.manual_seed(0)
    lstm = LSTMModule(input_size=3, hidden_size=4, in_key="observation", out_key="hidden")
    head = TensorDictModule(nn.Linear(4, 2), in_keys=["hidden"], out_keys=["action"])
    return TensorDictSequential(lstm, head), lstm


def with_memory(length: int = 6, count: int | None = None) -> TransformedEnv:
    _, lstm = recurrent()
    base = envs.Counting(length) if count is None else SerialEnv(count, partial(envs.make_counting, length=length))
    return TransformedEnv(base, Compose(InitTracker(), lstm.make_tensordict_primer()))


def test_a_recurrent_policy_carries_its_state_through_an_episode_and_into_no_other() -> None:
    policy, _ = recurrent()
    env = with_memory()
    with torch.no_grad():
        expected = env.rollout(20, policy, break_when_any_done=True)["next", "reward"].double().sum().item()
    made = player(with_memory, recurrent()[0])
    assert [play(made, seed).returns[0] for seed in (1, 2)] == pytest.approx([expected, expected], rel=1e-6)


def test_a_recurrent_policy_plays_environments_that_are_stepped_together() -> None:
    alone = play(player(with_memory, recurrent()[0])).returns[0]
    assert play(player(partial(with_memory, count=3), recurrent()[0])).returns == pytest.approx([alone] * 3, rel=1e-5)


# ---------------------------------------------------------------- versions
def test_an_evaluator_plays_an_older_version_if_it_is_asked_to() -> None:
    made = player()
    assert play(made, offered=offer(5, envs.make_policy(5.0))).returns == (100.0,)
    assert play(made, offered=offer(2, envs.make_policy(2.0))).returns == (40.0,)
    assert play(made, offered=offer(6, envs.make_policy(6.0))).returns == (120.0,)


def test_what_was_loaded_is_said_with_its_digest() -> None:
    made, offered = player(), offer(4, envs.make_policy(4.0))
    told: list[Any] = []
    thread = threading.Thread(target=lambda: told.append(made.inboxes["policy"].next_applied(0)))
    thread.start()
    play(made, offered=offered)
    thread.join(30)
    from collectorfleet.codec.snapshot import digest

    assert told == [(4, digest(offered.weights.arrays))]


def test_a_request_without_a_seed_is_of_no_evaluator() -> None:
    with pytest.raises(RuntimeError, match="an evaluator got a request for a rollout"):
        player().run(Request(1, 10, 0))


# ---------------------------------------------------------------- errors
@pytest.mark.parametrize(
    ("create_env", "policy", "origin"),
    [
        pytest.param(partial(envs.make_counting, misbehaves="raise"), None, Origin.ENVIRONMENT, id="environment"),
        pytest.param(envs.make_counting, envs.make_broken_policy(), Origin.POLICY, id="policy"),
    ],
)
def test_an_error_is_of_whoever_raised_it(create_env: Any, policy: Any, origin: Origin) -> None:
    made = player(create_env, policy)
    with pytest.raises((ValueError, ZeroDivisionError)) as raised:
        play(made, offered=offer(1, policy or envs.make_policy()))
    assert origin_of(raised.value) is origin


def test_an_environment_that_cannot_be_built_is_the_environments_error() -> None:
    with pytest.raises(ValueError, match="no such game") as raised:
        player(partial(envs.make_counting, misbehaves="raise when built"))
    assert origin_of(raised.value) is Origin.ENVIRONMENT


def test_after_an_error_another_episode_can_be_played() -> None:
    made = player(partial(envs.make_counting, misbehaves="raise", at=5))
    with pytest.raises(ValueError, match="the game is broken"):
        play(made)
    assert play(made).lengths == (10,)
