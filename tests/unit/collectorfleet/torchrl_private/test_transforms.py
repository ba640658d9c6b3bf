"""What CollectorFleet expects of private names of TorchRL's transforms, one test for each."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from tensordict import TensorDict
from tests.gym_envs import Chance, make_chance
from torchrl.envs import (
    CatFrames,
    EnvBase,
    GymWrapper,
    ObservationNorm,
    StepCounter,
    Transform,
    TransformedEnv,
    VecNorm,
    VecNormV2,
)

from collectorfleet.torchrl_private import transforms as private


def example(env: Any) -> Any:
    return env.fake_tensordict().get("next")


@pytest.fixture
def with_v2() -> EnvBase:
    return TransformedEnv(make_chance(), VecNormV2(["observation"], decay=1.0))


@pytest.fixture
def with_v1() -> EnvBase:
    return TransformedEnv(make_chance(), VecNorm(["observation"]))


def test_an_entry_is_transformed_without_a_tensordict() -> None:
    norm = ObservationNorm(loc=1.0, scale=2.0, in_keys=["observation"])
    assert private.transformed(norm, torch.ones(3)).tolist() == [3, 3, 3]


def test_a_transform_with_hooks_after_the_step_is_found() -> None:
    class Hooked(Transform):
        def _post_step_mdp_hooks(self, tensordict: Any) -> Any:
            return tensordict

    assert private.has_hooks_after_step(Hooked())
    assert not private.has_hooks_after_step(StepCounter())


def test_stacked_frames_are_kept_by_key() -> None:
    env = TransformedEnv(make_chance(), CatFrames(N=2, dim=-1, in_keys=["observation"]))
    seen = env.reset()["observation"]
    assert private.frames_of(env.transform, "observation").flatten().equal(seen.flatten())


def test_a_vector_environment_that_reset_itself_goes_on_from_what_it_was_left_with() -> None:
    env = GymWrapper(SyncVectorEnv([Chance, Chance], autoreset_mode=AutoresetMode.SAME_STEP))
    env.reset()
    begun = TensorDict({"observation": torch.full((2, 3), 7.0)}, [2])
    done = torch.tensor([[True], [False]])
    private.leave_reset(env.transform, done, begun)
    reset = env.transform._reset(TensorDict({"_reset": done}, [2]), TensorDict({"observation": torch.zeros(2, 3)}, [2]))
    assert reset["observation"][0].tolist() == [7, 7, 7]


def test_a_vector_environment_forgets_its_last_step_at_a_reset_of_all_rows() -> None:
    private.forget_steps_at_full_resets()
    private.forget_steps_at_full_resets()  # each collector of a process calls it
    env = GymWrapper(SyncVectorEnv([Chance, Chance], autoreset_mode=AutoresetMode.SAME_STEP))
    env.reset()
    begun = TensorDict({"observation": torch.full((2, 3), 7.0)}, [2])
    private.leave_reset(env.transform, torch.tensor([[True], [False]]), begun)
    reset = env.transform._reset(TensorDict({}, [2]), TensorDict({"observation": torch.zeros(2, 3)}, [2]))
    assert reset["observation"].tolist() == [[0, 0, 0], [0, 0, 0]]


def test_statistics_of_vec_norm_v2_are_kept_by_key(with_v2: EnvBase) -> None:
    v2 = with_v2.transform
    private.start_vec_norm_v2(v2, example(with_v2))
    state = private.VecNormV2State(v2, "observation")
    assert int(state.updates) == 0
    seen = with_v2.rollout(1)["observation"]
    assert int(state.updates) >= 1
    assert state.mean.shape == state.variance.shape == seen.shape[1:]
    state.mean.fill_(5)
    assert private.VecNormV2State(v2, "observation").mean.tolist() == [5, 5, 5]


def test_keys_of_vec_norm_v2_are_those_that_were_given(with_v2: EnvBase) -> None:
    without_state = VecNormV2(["observation"], stateful=False)
    assert list(private.keys_of_vec_norm_v2(with_v2.transform)) == ["observation"]
    assert list(private.keys_of_vec_norm_v2(without_state)) == ["observation"]


def test_sums_of_vec_norm_can_be_made_before_the_first_step(with_v1: EnvBase) -> None:
    v1 = with_v1.transform
    private.start_vec_norm(v1, example(with_v1), "observation")
    sums = private.sums_of_vec_norm(v1)
    assert sums is not None
    assert {"observation_sum", "observation_ssq", "observation_count"} <= set(sums.keys())


def test_each_update_of_vec_norm_can_be_counted(with_v1: EnvBase) -> None:
    v1 = with_v1.transform
    update, keys = private.update_of_vec_norm(v1), []

    def counted(key: Any, value: Any, **keywords: Any) -> Any:
        keys.append(key)
        return update(key, value, **keywords)

    private.set_update_of_vec_norm(v1, counted)
    with_v1.rollout(1)
    assert set(keys) == {"observation"}
