"""What CollectorFleet expects of private names of TorchRL's environments, one test for each."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from tensordict import TensorDict
from tests.gym_envs import Chance, make_chance
from tests.tensor_envs import SelfResettingWalks, Walks
from torchrl.data import Composite, Unbounded
from torchrl.envs import EnvBase, GymWrapper, SerialEnv, StepCounter, TransformedEnv, batched_envs, common
from torchrl.envs.libs import gym

from collectorfleet.torchrl_private import environments as private


class HookedWalks(SelfResettingWalks):
    def _reset_on_native_autoreset(self, next_tensordict: Any, output: Any) -> Any:
        return next_tensordict.set("hooked", torch.ones(self.batch_size))


def test_reset_masks_are_in_the_entry_reset() -> None:
    env = Walks(2)
    first = env.reset()
    before = first["height"].clone()
    second = env.reset(first.set(private.RESET_KEY, torch.tensor([[True], [False]])))
    assert (second["height"] == before).flatten().tolist() == [False, True]


@pytest.mark.parametrize("name", [*private.STEPPING, *private.PROCESSING, *private.CHANGE_STATE])
def test_torchrl_has_the_method(name: str) -> None:
    assert callable(getattr(EnvBase, name))


def test_torchrl_sets_the_settings_on_environments() -> None:
    source = inspect.getsource(common) + inspect.getsource(gym)
    known, transform = (*private.SETTINGS, *private.CACHES), StepCounter()
    assert [name for name in known if name not in source and not hasattr(transform, name)] == []


def test_a_call_to_processes_has_a_class_of_its_own() -> None:
    assert callable(getattr(batched_envs, private.PROCESS_CALL))


def test_a_step_and_a_reset_are_called_without_what_surrounds_them() -> None:
    env = Walks(2)
    begun = private.call_reset(env, TensorDict(batch_size=[2]), **private.reset_options(env))
    reached = private.call_step(env, begun.set("action", torch.zeros(2, 2)))
    assert reached["calls"].flatten().tolist() == [1, 1]


def test_an_environment_that_sets_states_is_reset_without_setting_one() -> None:
    class Setting(Walks):
        def _reset(self, tensordict: Any = None, *, set_state: bool = True, **_: Any) -> Any:
            return super()._reset(tensordict)

    assert private.reset_options(Walks(2)) == {}
    assert private.reset_options(Setting(2)) == ({"set_state": False} if Setting(2)._supports_set_state else {})


def test_the_rules_of_a_step_name_its_keys() -> None:
    rules = private.step_rules(Walks(2))
    assert set(rules.observation_keys) == {"observation", "calls", "height"}
    assert set(rules.done_keys) == {"done", "terminated", "truncated"}
    assert list(rules.state_keys) == []


def test_an_environment_says_that_it_resets_itself() -> None:
    assert not private.resets_itself(Walks(2))
    assert private.resets_itself(SelfResettingWalks(2))


def test_a_hook_of_an_environment_that_resets_itself_is_found_and_called() -> None:
    env = HookedWalks(2)
    assert not private.has_own_reset_hook(SelfResettingWalks(2))
    assert private.has_own_reset_hook(env)
    following = TensorDict(batch_size=[2])
    assert "hooked" in private.call_reset_hook(env, following, following)


def test_a_compiled_step_is_found() -> None:
    env = Walks(2)
    assert not private.compiles_step(env)
    env.__dict__["_compiled_step_and_maybe_reset"] = env.step_and_maybe_reset
    assert private.compiles_step(env)


def test_an_environment_says_whether_episodes_may_be_over_when_they_begin() -> None:
    assert not private.allows_done_after_reset(Walks(2))
    assert private.allows_done_after_reset(Walks(2, allow_done_after_reset=True))


def test_an_environment_has_no_hook_after_its_step_by_default() -> None:
    assert private.hooks_after_step(Walks(2)) is None


def test_a_size_that_varies_is_found() -> None:
    env = Walks(2)
    assert not private.has_dynamic_specs(env)
    env.set_spec_lock_(False)
    env.observation_spec = Composite(words=Unbounded((2, -1)), shape=[2])
    assert private.has_dynamic_specs(env)


def test_ends_at_the_root_are_simple() -> None:
    assert private.has_simple_ends(Walks(2))


def test_the_environments_of_a_serial_environment_are_read_one_by_one() -> None:
    env = SerialEnv(2, make_chance)
    env.start()
    assert [type(inner) for inner in private.environments_of(env)] == [GymWrapper, GymWrapper]
    env.close()


def test_a_serial_environment_says_whether_its_environments_are_alike() -> None:
    assert private.are_alike(SerialEnv(2, make_chance))
    assert not private.are_alike(SerialEnv(2, [make_chance, lambda: make_chance(ends=0.1)]))


def test_a_serial_environment_says_whether_it_has_common_memory() -> None:
    env = SerialEnv(2, make_chance)
    env.start()
    assert private.shares_buffers(env)
    env.close()
    assert not private.shares_buffers(SerialEnv(2, make_chance, use_buffers=False))


def test_the_gymnasium_environment_below_a_wrapper_is_the_users() -> None:
    game = Chance()
    env = GymWrapper(game)
    assert private.gymnasium_of(env) is game
    assert private.wrapped_by(env) is game
    assert private.wrapped_by(Walks(2)) is None


def test_vector_environments_are_told_from_single_ones() -> None:
    vector = GymWrapper(SyncVectorEnv([Chance, Chance], autoreset_mode=AutoresetMode.SAME_STEP))
    base = vector.base_env if isinstance(vector, TransformedEnv) else vector
    assert private.is_vector(base)
    assert not private.is_vector(make_chance())
    assert not private.is_vector(Walks(2))


def test_actions_are_arrays_of_numpy_unless_told_otherwise() -> None:
    assert private.takes_arrays(make_chance())
    assert not private.takes_arrays(GymWrapper(Chance(), convert_actions_to_numpy=False))
