"""Collectors normalize alike, whichever of them saw what, and go on so after a loss and in another fleet."""

from __future__ import annotations

import os
import signal
import warnings
from functools import partial
from typing import Any

import pytest
import torch
from tests import envs
from tests.runtime.batches import Make
from tests.wait import eventually
from torchrl.envs import Compose, ObservationNorm, ParallelEnv, StepCounter, TransformedEnv, VecNorm, VecNormV2

from collectorfleet import FleetCollector, InvalidOption, UserCodeError
from collectorfleet.gather.built import wait_replaced

pytestmark = pytest.mark.usefixtures("local_ray")

NAME = "1.VecNormV2.observation"


def make_normalized(decay: float = 1.0, *, frozen: bool = False, old: bool = False) -> TransformedEnv:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        norm = (VecNorm if old else VecNormV2)(in_keys=["observation"], out_keys=["normal"], decay=decay)
    return TransformedEnv(envs.Counting(), Compose(StepCounter(), norm.freeze() if frozen else norm))


def make_standardized() -> TransformedEnv:
    """With constants of its own, from random rollouts."""
    env = TransformedEnv(envs.Random(), ObservationNorm(in_keys=["observation"], standard_normal=True))
    env.transform.init_stats(20)
    return env


def make_in_processes(frozen: bool) -> ParallelEnv:
    return ParallelEnv(2, partial(make_normalized, frozen=frozen))


def updates(collector: FleetCollector) -> int:
    return int(collector.normalization()[NAME]["updates"])


def has(collector: FleetCollector) -> dict[str, int]:
    """What the transform of each collector has seen, or was told."""
    states = collector.state_dict()["collectors"]
    key = "transforms.1._extra_state"
    return {name: int(state["env_state_dict"][key]["count.-|-.observation"]) for name, state in states.items()}


def add_one(collector: FleetCollector) -> None:
    collector.resize(2)
    eventually(lambda: collector.status().progress.collectors.available == 2, within=60, what="another collector")


@pytest.mark.parametrize("old", [False, True], ids=["VecNormV2", "VecNorm"])
def test_what_all_saw_is_counted_and_all_have_it_after_a_publish(make: Make, old: bool) -> None:
    collector = make(create_env_fn=partial(make_normalized, old=old), update_after_each_batch=True)
    batches = iter(collector)
    for _ in range(3):
        next(batches)
    collector.update_policy_weights_(wait=True)
    (one,) = collector.normalization().values()
    # 30 frames of each of two collectors: 30 steps, and a reset at the beginning and after every 10 of them.
    assert one["updates"] == 2 * (30 + 1 + 3)
    if not old:
        assert has(collector) == {"c0": 68, "c1": 68}
    assert collector.status().weights.publishes.failed == 0


def test_one_that_is_replaced_begins_with_what_the_fleet_has_seen(make: Make) -> None:
    collector = make(create_env_fn=make_normalized, num_collectors=1, update_after_each_batch=True)
    batches = iter(collector)
    next(batches)
    one = collector._consumer.shared.gather.collectors.named("c0")
    assert one is not None
    assert one.pid is not None
    os.kill(one.pid, signal.SIGKILL)
    eventually(lambda: collector.status().collectors[0].restarts, within=60, what="a replacement")
    wait_replaced(collector._consumer.shared, one.id, 60)
    collector.update_policy_weights_(wait=True)
    assert has(collector) == {"c0": updates(collector)}
    seen = updates(collector)
    assert seen >= 20
    next(batches)
    assert updates(collector) > seen


def test_one_that_is_added_begins_with_what_the_fleet_has_seen_although_nothing_is_published(make: Make) -> None:
    collector = make(create_env_fn=make_normalized, num_collectors=1)
    next(iter(collector))
    seen = updates(collector)
    add_one(collector)
    assert has(collector)["c1"] == seen > 20


def test_a_fleet_goes_on_with_the_normalization_of_a_state(make: Make) -> None:
    first = make(create_env_fn=make_normalized)
    next(iter(first))
    state = first.state_dict()
    first.shutdown()
    second = make(create_env_fn=make_normalized)
    second.load_state_dict(state)
    second.update_policy_weights_(wait=True)
    assert set(has(second).values()) == {updates(first)}
    second.shutdown(timeout=20)
    third = make(create_env_fn=make_normalized, resume_from={"frames": 0, "version": 7, **state})
    third.update_policy_weights_(wait=True)
    assert set(has(third).values()) == {updates(first)}


def test_constants_are_those_of_the_first_collector(make: Make) -> None:
    collector = make(create_env_fn=make_standardized)
    next(iter(collector))
    states = collector.state_dict()["collectors"].values()
    locs = [state["env_state_dict"]["loc"] for state in states]
    torch.testing.assert_close(locs[0], locs[1], rtol=0, atol=0)
    (one,) = collector.normalization().values()
    torch.testing.assert_close(one["sums"]["loc"].float(), locs[0], rtol=0, atol=0)


def test_an_environment_for_evaluation_gets_it(make: Make) -> None:
    collector = make(create_env_fn=make_normalized)
    evaluation = make_normalized(frozen=True)
    with pytest.raises(InvalidOption, match=r"load_normalization: .*VecNormV2.observation"):
        make(create_env_fn=envs.make_counting).load_normalization(evaluation)
    next(iter(collector))
    collector.load_normalization(evaluation)
    norm = evaluation.transform[1]
    assert int(norm._count["observation"]) == updates(collector)
    # An episode and the next one's reset, of two collectors: 0 to 10, and 0.
    assert float(norm.loc["observation"][0]) == pytest.approx(55 / 12)


def test_environments_of_one_collector_count_together(make: Make) -> None:
    collector = make(create_env_fn=make_normalized, envs_per_collector=2, num_collectors=1)
    next(iter(collector))
    assert updates(collector) == 2 * (10 + 1 + 1)
    alone = make_normalized()
    collector.load_normalization(alone)
    assert int(alone.transform[1]._count["observation"]) == updates(collector)


def test_a_fleet_without_weights_carries_it_to_those_that_come(make: Make) -> None:
    collector = make(create_env_fn=make_normalized, policy_factory=envs.make_policy, num_collectors=1)
    batch = next(iter(collector))
    assert set(batch["collector", "weights_version"].flatten().tolist()) == {1}
    seen = updates(collector)
    add_one(collector)
    assert has(collector)["c1"] == seen > 20
    collector.update_policy_weights_(wait=True)
    assert has(collector) == {"c0": updates(collector), "c1": updates(collector)}


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(
            {"create_env_fn": make_normalized, "collector_class": "sync", "num_workers_per_collector": 2},
            id="collector's processes",
            marks=pytest.mark.variant_of(
                "tests/unit/collectorfleet/actor/normalization/test_search.py::test_running_statistics_in_processes_of_a_collector_are_refused_by_name"
            ),
        ),
        pytest.param({"create_env_fn": partial(make_in_processes, frozen=False)}, id="ParallelEnv"),
    ],
)
def test_statistics_that_run_in_other_processes_are_refused_by_name(make: Make, options: dict[str, Any]) -> None:
    collector = make(num_collectors=1, **options)
    with pytest.raises(UserCodeError, match=r"1\.VecNormV2\.observation: running statistics .* Use envs_per_collector"):
        next(iter(collector))


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(
            {
                "create_env_fn": partial(make_normalized, frozen=True),
                "collector_class": "sync",
                "num_workers_per_collector": 2,
            },
            id="collector's processes",
            marks=pytest.mark.variant_of(
                "tests/unit/collectorfleet/actor/normalization/test_search.py::test_frozen_statistics_may_be_in_processes_of_a_collector"
            ),
        ),
        pytest.param(
            {"create_env_fn": partial(make_in_processes, frozen=True)},
            id="ParallelEnv",
            marks=pytest.mark.variant_of(
                "tests/unit/collectorfleet/actor/normalization/test_search.py::test_frozen_statistics_may_be_in_a_parallel_environment"
            ),
        ),
    ],
)
def test_frozen_ones_may_be_in_other_processes(make: Make, options: dict[str, Any]) -> None:
    collector = make(num_collectors=1, **options)
    assert next(iter(collector)).numel() == 20
