"""Statistics of environments in other processes: those that still change are refused, and frozen ones are taken."""

from __future__ import annotations

from functools import partial

import pytest
from tests import envs
from torchrl.envs import Compose, ParallelEnv, StepCounter, TransformedEnv, VecNormV2

from collectorfleet.actor.normalization.search import build_without_running_statistics, find
from collectorfleet.errors import InvalidOption


def make_normalized(*, frozen: bool) -> TransformedEnv:
    norm = VecNormV2(in_keys=["observation"], out_keys=["normal"])
    return TransformedEnv(envs.Counting(), Compose(StepCounter(), norm.freeze() if frozen else norm))


def make_in_processes(*, frozen: bool) -> ParallelEnv:
    """Starts no process before somebody steps it."""
    return ParallelEnv(2, partial(make_normalized, frozen=frozen))


def test_running_statistics_in_processes_of_a_collector_are_refused_by_name() -> None:
    expected = (
        r"1\.VecNormV2\.observation: running statistics in environments in separate processes cannot be sent to "
        r"other collectors\. Use envs_per_collector, freeze the transform"
    )
    with pytest.raises(InvalidOption, match=expected):
        build_without_running_statistics(make_normalized, frozen=False)


def test_running_statistics_in_a_parallel_environment_are_refused_by_name() -> None:
    env = make_in_processes(frozen=False)
    expected = r"1\.VecNormV2\.observation: running statistics in a ParallelEnv .* Use envs_per_collector, use Serial"
    with pytest.raises(InvalidOption, match=expected):
        find(env)


def test_frozen_statistics_may_be_in_processes_of_a_collector() -> None:
    env = build_without_running_statistics(make_normalized, frozen=True)
    assert env.rollout(3).numel() == 3


def test_frozen_statistics_may_be_in_a_parallel_environment() -> None:
    assert find(make_in_processes(frozen=True)) == {}
