"""What several environments saw, merged, is what one has that saw all of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.example_count import examples
from tests.unit.collectorfleet.actor.normalization.normalized import (
    Playback,
    environment,
    normalization,
    see,
    statistics,
    vec_norm,
    vec_norm_v2,
)
from torchrl.envs import SerialEnv, Transform, TransformedEnv, VecNormV2

from collectorfleet.codec import normalization as codec
from collectorfleet.normalization import Normalization, merged

Make = Callable[[float], Transform]
KINDS = pytest.mark.parametrize("make", [vec_norm, vec_norm_v2], ids=["VecNorm", "VecNormV2"])
DECAYS = pytest.mark.parametrize("decay", [0.5, 0.99, 0.9999, 1.0])
NUMBERS = st.lists(st.floats(-100, 100, width=32), min_size=4, max_size=40)
STEPS = st.lists(st.integers(1, 7), min_size=1, max_size=5)


def agree(one: Transform, other: Transform) -> None:
    ours, theirs = statistics(one), statistics(other)
    assert set(ours.keys(True, True)) == set(theirs.keys(True, True))
    for key in ours.keys(True, True):
        torch.testing.assert_close(ours[key], theirs[key], rtol=1e-4, atol=1e-3)


@KINDS
@DECAYS
@settings(max_examples=examples(5), phases=[Phase.generate])
@given(numbers=NUMBERS, steps=STEPS)
def test_contributions_of_many_are_what_one_environment_would_have(
    make: Make, decay: float, numbers: list[float], steps: list[int]
) -> None:
    one = environment(make(decay), numbers)
    alone = normalization(one)
    fleet: Normalization = alone.now()
    many = [environment(make(decay), ()) for _ in steps]
    at = 0
    for env, count in zip(many, steps, strict=True):
        see(one, count)
        seen = count + 1 + count // 3  # with what resets show
        env.base_env._numbers = iter(numbers[at : at + seen])
        at += seen
        theirs = normalization(env)
        theirs.load(codec.encode(fleet))
        see(env, count)
        fleet = merged(fleet, theirs.contribution() or {})
    last = environment(make(decay))
    normalization(last).load(codec.encode(fleet))
    agree(last.transform[0], one.transform[0])


@KINDS
@DECAYS
def test_contributions_to_one_base_are_what_one_sees_of_all_in_a_row(make: Make, decay: float) -> None:
    base = environment(make(decay), range(10))
    begun = normalization(base)
    see(base, 5)
    fleet = merged(begun.now(), {})
    saw_all = environment(make(decay), range(100, 120))
    normalization(saw_all).load(codec.encode(fleet))
    for first in (100, 105, 110):  # three collectors that begin with the same
        one = environment(make(decay), range(first, first + 5))
        theirs = normalization(one)
        theirs.load(codec.encode(begun.now()))
        see(one, 3)
        see(saw_all, 3)
        fleet = merged(fleet, theirs.contribution() or {})
    merged_one = environment(make(decay))
    normalization(merged_one).load(codec.encode(fleet))
    agree(merged_one.transform[0], saw_all.transform[0])


def batched(first: int, decay: float) -> TransformedEnv:
    inner = SerialEnv(2, lambda: Playback(range(first, first + 20)))
    with pytest.warns(UserWarning, match="experimental"):
        return TransformedEnv(inner, VecNormV2(in_keys=["observation"], decay=decay, reduce_batch_dims=True))


@pytest.mark.parametrize("decay", [0.9, 1.0])
def test_a_batch_that_is_reduced_counts_for_each_of_its_environments(decay: float) -> None:
    one, other, saw_all, last = batched(0, decay), batched(50, decay), batched(0, decay), batched(0, decay)
    seen = [normalization(one), normalization(other)]
    for env in (one, other):
        see(env, 4)
    see(saw_all, 4)
    for env in saw_all.base_env._envs:
        env._numbers = iter(range(50, 70))
    see(saw_all, 4)
    contributions = [one.contribution() or {} for one in seen]
    assert [each.updates for each in contributions[0].values()] == [2 * 6]  # 4 steps and 2 resets of 2 environments
    normalization(last).load(codec.encode(merged(*contributions)))
    agree(last.transform, saw_all.transform)
