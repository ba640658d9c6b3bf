"""What CollectorFleet expects of private names of TorchRL's collectors, one test for each."""

from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from tests.envs import Counting
from tests.gym_envs import make_chance
from torch import nn
from torchrl import _utils
from torchrl.collectors import Collector

from collectorfleet.torchrl_private import collectors as private

KEY = ("collector", "traj_ids")


def make(**options: Any) -> Collector:
    policy = options.pop("policy", TensorDictModule(nn.Linear(3, 2), ["observation"], ["action"]))
    options = {"frames_per_batch": 4, "total_frames": -1, "return_same_td": True, **options}
    return Collector(options.pop("env", None) or make_chance(ends=0.0), policy, **options)


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = make()
    yield made
    made.shutdown()


def next_batch(collector: Collector) -> TensorDict:
    return next(iter(collector))


def test_the_next_step_begins_with_the_carrier(collector: Collector) -> None:
    seen = private.carrier_of(collector).get("observation").clone()
    assert next_batch(collector)["observation"][0].equal(seen)


def test_a_carrier_can_be_set(collector: Collector) -> None:
    other = private.carrier_of(collector).clone()
    other["observation"].fill_(7)
    private.set_carrier(collector, other)
    assert next_batch(collector)["observation"][0].tolist() == [7, 7, 7]


def test_a_new_carrier_comes_from_a_reset(collector: Collector) -> None:
    before = private.carrier_of(collector)
    private.make_carrier(collector)
    after = private.carrier_of(collector)
    assert after is not before
    assert not after["observation"].equal(before["observation"])


def test_a_carrier_lacks_a_device_unless_the_collector_has_one(collector: Collector) -> None:
    with_device = make(env=Counting(), device="cpu")
    assert private.lacks_device(collector)
    assert not private.lacks_device(with_device)


def test_nothing_is_cast_to_an_environment_on_the_policys_device(collector: Collector) -> None:
    assert private.casts_to_environment(collector) is False


def test_keeps_the_memory_of_a_batch_unless_told_otherwise(collector: Collector) -> None:
    assert private.keeps_batch(collector)
    assert not private.keeps_batch(make(use_buffers=False))


def test_a_rollout_is_written_to_the_kept_batch(collector: Collector) -> None:
    kept = private.kept_batch(collector)
    assert next_batch(collector)["observation"].data_ptr() == kept["observation"].data_ptr()


def test_a_rollout_is_written_to_another_batch_that_was_set(collector: Collector) -> None:
    other = private.kept_batch(collector).clone()
    private.set_kept_batch(collector, other)
    assert next_batch(collector)["observation"].data_ptr() == other["observation"].data_ptr()


def test_the_kept_batch_can_be_made_anew(collector: Collector) -> None:
    before = private.kept_batch(collector)
    private.make_kept_batch(collector)
    after = private.kept_batch(collector)
    assert after is not before
    assert after.shape == before.shape


def test_the_frames_of_a_batch_can_be_changed(collector: Collector) -> None:
    private.set_frames(collector, 6)
    private.make_kept_batch(collector)
    assert next_batch(collector).shape == (6,)


def test_counts_the_frames_that_init_random_frames_is_compared_with(collector: Collector) -> None:
    next_batch(collector)
    assert private.frames_so_far(collector) == 4


def test_draws_random_actions_for_init_random_frames() -> None:
    collector = make(init_random_frames=4)
    assert private.draws_random_actions(collector)
    next_batch(collector)
    assert not private.draws_random_actions(collector)


def test_compact_observations_are_left_out_of_next(collector: Collector) -> None:
    assert private.compact_keys(collector) == set()
    assert ("next", "observation") in private.compact_keys(make(compact_obs=True))


def test_the_last_step_is_truncated_if_asked_for(collector: Collector) -> None:
    truncating = make(set_truncated=True)
    for made, ends in ((collector, False), (truncating, True)):
        batch = private.kept_batch(made)
        batch["next", "truncated"].fill_(False)
        truncated = private.truncated_at_end(made, batch)["next", "truncated"].flatten().tolist()
        assert truncated == [False, False, False, ends]


def test_new_trajectories_have_ids_of_their_own(collector: Collector) -> None:
    first, second = private.new_trajectories(collector, 3), private.new_trajectories(collector, 2)
    ids = [*first.tolist(), *second.tolist(), int(private.carrier_of(collector).get(KEY))]
    assert len(set(ids)) == 6


def test_an_environment_that_a_step_ended_gets_a_new_trajectory(collector: Collector) -> None:
    before = private.carrier_of(collector).get(KEY).clone()
    output = next_batch(collector)[-1].clone()
    output["next", "done"].fill_(True)
    private.update_trajectories(collector, output)
    assert private.carrier_of(collector).get(KEY) != before


def test_all_environments_get_new_trajectories(collector: Collector) -> None:
    before = private.carrier_of(collector).get(KEY).clone()
    private.start_trajectories(collector)
    assert private.carrier_of(collector).get(KEY) != before


def test_the_acting_policy_is_the_users_module() -> None:
    policy = TensorDictModule(nn.Linear(3, 2), ["observation"], ["action"])
    collector = make(policy=policy)
    assert private.acting_policy(collector) is collector.policy
    assert [*private.acting_policy(collector).parameters()] == [*policy.parameters()]


def test_the_loop_calls_the_policy_that_was_set_as_the_recorded_one(collector: Collector) -> None:
    recorded, calls = private.recorded_policy(collector), []

    def acting(observed: Any) -> Any:
        calls.append(observed)
        return recorded(observed)

    private.set_recorded_policy(collector, acting)
    next_batch(collector)
    assert len(calls) == 4


def test_the_keys_that_the_policy_writes_are_known(collector: Collector) -> None:
    assert set(private.policy_writes(collector)) == {"action"}


def test_a_collector_without_weights_loads_its_state() -> None:
    collector = make(policy=None)
    private.allow_no_weights(collector)
    collector.load_state_dict(collector.state_dict())


def test_the_death_of_a_process_is_raised_in_a_known_function() -> None:
    process = multiprocessing.get_context("fork").Process(target=int)
    process.start()
    process.join()
    with pytest.raises(RuntimeError, match="process failed") as raised:
        _utils._check_for_faulty_process([process])
    assert raised.traceback[-1].frame.code.raw is private.PROCESS_CHECK


def test_a_policy_is_compiled_once_it_has_been_called() -> None:
    compiled = private.compile_with_warmup(torch.sin, backend="eager")
    values = torch.ones(2)
    assert [compiled(values).equal(values.sin()) for _ in range(3)] == [True] * 3


def broken(*_: Any) -> None:
    raise ValueError("broken")


@pytest.mark.parametrize("option", ["pre_collect_hook", "post_collect_hook", "postproc"])
def test_the_line_that_calls_a_function_of_the_user_names_its_option(option: str) -> None:
    made = make(**{option: broken})
    with pytest.raises(ValueError, match="broken") as raised:
        next_batch(made)
    made.shutdown()
    lines = [(frame.f_code, line) for frame, line in traceback.walk_tb(raised.value.__traceback__)]
    found = [private.called_option(code, line) for code, line in lines if "/torchrl/" in code.co_filename]
    assert [one for one in found if one] == [option]
