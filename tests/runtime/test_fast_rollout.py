"""A fleet whose collectors step by the loop of its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from tests.envs import make_policy
from tests.gym_envs import make_chance
from tests.tensor_envs import MaskedWalks
from tests.wait import eventually

from collectorfleet import FleetCollector

Make = Callable[..., FleetCollector]


def learn(collector: FleetCollector, value: float) -> None:
    with torch.no_grad():
        collector.policy.module.value.fill_(value)
    collector.update_policy_weights_()


def loops(collector: FleetCollector) -> set[Any]:
    return {one.rollout for one in collector.status().collectors}


def test_a_fleet_says_that_it_steps_fast_and_frames_are_of_the_weights_that_they_name(make: Make) -> None:
    collector = make(
        create_env_fn=make_chance, policy=make_policy(), envs_per_collector=3, frames_per_batch=24, max_staleness=0
    )
    batches = iter(collector)
    for value in (0.25, 0.5, -0.75):
        learn(collector, value)
        batch = next(batches)
        assert set(batch["action"].flatten().tolist()) == {value}
        assert batch["collector", "weights_version"].unique().numel() == 1
    eventually(lambda: loops(collector) == {"Fast"}, within=60)


def test_a_fleet_that_is_told_to_steps_by_torchrls_loop(make: Make) -> None:
    collector = make(create_env_fn=make_chance, rollout="torchrl")
    next(iter(collector))
    eventually(lambda: loops(collector) == {"TorchRL"}, within=60)


def test_a_fleet_says_why_an_environment_steps_itself(make: Make) -> None:
    collector = make()
    next(iter(collector))
    reason = "Counting is not a Gymnasium environment"
    eventually(lambda: loops(collector) == {f"Fast, by the environment's own step: {reason}"}, within=60)


def test_environments_of_tensors_deliver_frames_of_the_weights_that_they_name(make: Make) -> None:
    collector = make(
        create_env_fn=partial(MaskedWalks, 6),
        policy=make_policy(),
        num_collectors=2,
        frames_per_batch=48,
        max_staleness=0,
    )
    batches = iter(collector)
    for value in (0.25, 0.5, -0.75):
        learn(collector, value)
        batch = next(batches)
        assert set(batch["action"].flatten().tolist()) == {value}
        assert batch["collector", "weights_version"].unique().numel() == 1
        goes_on = ~batch["next", "done"][..., :-1, 0]
        assert goes_on.any()
        reached, seen = batch["next", "observation"][..., :-1, :], batch["observation"][..., 1:, :]
        assert torch.equal(reached[goes_on], seen[goes_on])
    eventually(lambda: loops(collector) == {"Fast, with tensors on cpu"}, within=60)


def test_observations_that_travel_once_make_the_same_batches(make: Make) -> None:
    made = {}
    for compact in (False, True):
        collector = make(
            create_env_fn=make_chance,
            policy=make_policy(0.5),
            num_collectors=1,
            envs_per_collector=3,
            frames_per_batch=24,
            compact_observations=compact,
        )
        collector.set_seed(3)
        batches = iter(collector)
        # What the first begins with was seen before the seed.
        made[compact] = [next(batches).clone() for _ in range(4)][1:]
    for whole, compact in zip(made[False], made[True], strict=True):
        assert set(whole.keys(True, True)) == set(compact.keys(True, True))
        for key in whole.keys(True, True):
            assert torch.equal(whole[key], compact[key]), key
