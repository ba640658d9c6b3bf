"""Every frame is a true transition, also after a call that reset, seeded or restored the environment in between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from tensordict import TensorDictBase
from tests.unit.collectorfleet.actor.climbing import (
    STEPS,
    Climb,
    OwnClimb,
    assert_true_transitions,
    gym,
    rolled_out,
    runner_of,
    several,
    with_a_limit,
)
from tests.unit.collectorfleet.actor.rollout.cases import linear_policy
from torchrl.collectors import MultiSyncCollector
from torchrl.envs import (
    CatFrames,
    EnvBase,
    GymWrapper,
    InitTracker,
    ParallelEnv,
    RewardScaling,
    RewardSum,
    StepCounter,
    TransformedEnv,
)

from collectorfleet.actor.build import build
from collectorfleet.actor.config import CollectorConfig, RolloutLoop
from collectorfleet.actor.rollouts import RolloutRunner
from collectorfleet.actor.server import CollectorServer
from collectorfleet.messages import CollectorId, Started


def with_room_for_transforms() -> EnvBase:
    return TransformedEnv(GymWrapper(Climb(pays=1.0)))


def in_processes() -> EnvBase:
    return ParallelEnv(2, gym)


MAKES = {"own": OwnClimb, "Gymnasium": gym, "with a limit": with_a_limit, "several": several}


each_environment = pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)


each_loop = pytest.mark.parametrize("loop", [RolloutLoop.FAST, RolloutLoop.TORCHRL])


def assert_jumps_begin_trajectories(before: TensorDictBase, after: TensorDictBase) -> None:
    """Where the second rollout does not go on from the first, it has other trajectories."""
    left, right = before["next", "observation"][:, -1], after["observation"][:, 0]
    ids = before["collector", "traj_ids"][:, -1], after["collector", "traj_ids"][:, 0]
    same = ids[0] == ids[1]
    assert torch.equal(left[same], right[same])
    assert not same.any()


CALLS: dict[str, Callable[[RolloutRunner], Any]] = {
    "the fleet's set_seed": lambda runner: runner.set_seed(1, static_seed=False),
    "map_fn of set_seed": lambda runner: runner.execute("set_seed", (1,), {}),
    "map_fn of env.set_seed": lambda runner: runner.execute("env.set_seed", (1,), {}),
    "map_fn of env.reset": lambda runner: runner.execute("env.reset", (), {}),
    "map_fn of reset": lambda runner: runner.execute("reset", (), {}),
    "map_fn of env.rollout": lambda runner: runner.execute("env.rollout", (3,), {}),
    "a state that is loaded": lambda runner: runner.load_environment_state(runner.environment_state()),
}


@each_loop
@each_environment
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_frames_after_a_call_that_touches_the_environment_are_true_transitions(
    make: Callable[[], EnvBase], loop: RolloutLoop, call: Callable[[RolloutRunner], Any]
) -> None:
    runner = runner_of(make, loop)
    call(runner)
    before = rolled_out(runner)
    assert_true_transitions(before)
    call(runner)
    after = rolled_out(runner)
    assert_true_transitions(after)
    assert_jumps_begin_trajectories(before, after)
    assert_true_transitions(rolled_out(runner))


@each_loop
@pytest.mark.parametrize("make", [OwnClimb, gym, several])
def test_a_method_of_the_environments_own_that_resets_it_begins_trajectories(
    make: Callable[[], EnvBase], loop: RolloutLoop
) -> None:
    runner = runner_of(make, loop)
    before = rolled_out(runner)
    runner.execute("env.begin_at", (3,), {})
    after = rolled_out(runner)
    assert_true_transitions(after)
    assert_jumps_begin_trajectories(before, after)


def test_a_method_that_is_called_in_the_processes_of_an_environment_begins_trajectories() -> None:
    runner = runner_of(in_processes)
    try:
        before = rolled_out(runner)
        runner.execute("env.begin_at", (3,), {})
        after = rolled_out(runner)
        assert_true_transitions(after)
        assert_jumps_begin_trajectories(before, after)
    finally:
        runner.collector.shutdown()


@each_loop
@pytest.mark.parametrize("make", [OwnClimb, gym, several])
@pytest.mark.parametrize(
    ("path", "arguments"),
    [
        pytest.param("env.__setattr__", ("level", 3), id="an attribute is set"),
        pytest.param("env.rand_action", (), id="an action is drawn"),
        pytest.param("env.fake_tensordict", (), id="specs are asked for"),
    ],
)
def test_a_call_that_does_not_touch_the_environment_ends_no_trajectory(
    make: Callable[[], EnvBase], loop: RolloutLoop, path: str, arguments: tuple[Any, ...]
) -> None:
    runner = runner_of(make, loop)
    before = rolled_out(runner)
    runner.execute(path, arguments, {})
    after = rolled_out(runner)
    assert torch.equal(before["next", "observation"][:, -1], after["observation"][:, 0])
    assert torch.equal(before["collector", "traj_ids"][:, -1], after["collector", "traj_ids"][:, 0])


def test_a_call_that_touches_the_environment_and_raises_begins_trajectories() -> None:
    runner = runner_of(gym)
    before = rolled_out(runner)
    with pytest.raises(TypeError):
        runner.execute("env.begin_at", ("too", "many"), {})
    assert torch.equal(before["next", "observation"][:, -1], rolled_out(runner)["observation"][:, 0])
    before = rolled_out(runner)
    runner.collector.reset_and_raise = partial(_reset_and_raise, runner.collector.env)
    with pytest.raises(ZeroDivisionError):
        runner.execute("reset_and_raise", (), {})
    after = rolled_out(runner)
    assert_true_transitions(after)
    assert_jumps_begin_trajectories(before, after)


def _reset_and_raise(env: EnvBase) -> None:
    env.reset()
    raise ZeroDivisionError


@each_loop
@each_environment
def test_equal_seeds_begin_alike(make: Callable[[], EnvBase], loop: RolloutLoop) -> None:
    runner = runner_of(make, loop)
    runner.set_seed(3, static_seed=False)
    first = rolled_out(runner)
    runner.set_seed(3, static_seed=False)
    second = rolled_out(runner)
    assert torch.equal(first["observation"], second["observation"])


def test_the_first_frame_of_a_replacement_after_set_seed_is_a_true_transition() -> None:
    config = CollectorConfig(gym, linear_policy(1), STEPS)
    server = CollectorServer(CollectorId("c0", 1), config)
    assert isinstance(server.build(5, seed_environment=True), Started)
    assert_true_transitions(rolled_out(server._runner))


def test_a_stack_of_frames_is_filled_anew_after_a_state_is_loaded() -> None:
    def stacked() -> EnvBase:
        return TransformedEnv(OwnClimb(), CatFrames(3, dim=-1, in_keys=["observation"]))

    config = CollectorConfig(stacked, None, STEPS, policy_factory=linear_policy)
    first, second = build(config, 0), build(config, 0)
    rolled_out(first)
    second.load_environment_state(first.environment_state())
    batch = rolled_out(second)
    newest = batch["observation"][..., -1]
    assert torch.equal(batch["next", "observation"][..., -1], newest + 1)
    assert torch.equal(batch["next", "observation"][..., :-1], batch["observation"][..., 1:])


APPENDED: dict[str, Callable[[], Any]] = {
    "a counter": StepCounter,
    "a limit": partial(StepCounter, 3),
    "a beginning": InitTracker,
    "a sum": RewardSum,
    "scaled rewards": partial(RewardScaling, 0.0, 10.0),
}


@pytest.mark.parametrize("transform", APPENDED.values(), ids=APPENDED)
def test_a_transform_that_comes_later_is_in_the_frames_of_both_loops(transform: Callable[[], Any]) -> None:
    found = []
    for loop in (RolloutLoop.FAST, RolloutLoop.TORCHRL):
        torch.manual_seed(0)
        runner = runner_of(with_room_for_transforms, loop)
        runner.set_seed(3, static_seed=False)
        before = rolled_out(runner)
        runner.execute("env.append_transform", (transform(),), {})
        after = rolled_out(runner)
        assert_true_transitions(after)
        found.append((before, after))
    (before, after), (_, theirs) = found
    assert set(after.keys(True, True)) == set(theirs.keys(True, True))
    assert all(torch.equal(after[key], theirs[key]) for key in after.keys(True, True))
    assert set(after.keys(True, True)) > set(before.keys(True, True)) or after["next", "reward"].max() == 10


def test_what_a_method_returns_does_not_have_to_travel_if_it_is_the_environment() -> None:
    runner = runner_of(with_a_limit)
    assert runner.execute("env.append_transform", (StepCounter(3, step_count_key="again"),), {}) is None


def test_the_processes_of_a_collector_give_true_transitions_too() -> None:
    config = CollectorConfig(gym, None, STEPS, policy_factory=partial(linear_policy, 1))
    config = replace(config, collector_class=MultiSyncCollector, workers=1)
    runner = build(config, 0)
    try:
        runner.load_environment_state(runner.environment_state())
        assert_true_transitions(rolled_out(runner))
        runner.set_seed(1, static_seed=False)
        assert_true_transitions(rolled_out(runner))
    finally:
        runner.collector.shutdown()
