"""What each collector of a fleet is made of."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import torch
from tests import envs
from torchrl.envs import EnvCreator

from collectorfleet import SimulatorProcess
from collectorfleet.actor.config import CollectorConfig
from collectorfleet.actor.simulator.options import Simulator
from collectorfleet.fleet.collector_configs import BatchedEnvironmentFactory, CollectorConfigs
from collectorfleet.fleet.options import FleetOptions


def recipes(create_env_fn: Any = envs.make_counting, **given: Any) -> CollectorConfigs:
    return CollectorConfigs(FleetOptions(create_env_fn, **{"frames_per_batch": 24} | given))


def test_a_collector_is_made_of_the_options_and_of_what_a_request_asks_for() -> None:
    given = recipes(
        create_env_kwargs={"length": 3},
        num_collectors=2,
        update_between_steps=True,
        threads_per_collector=4,
        remote_configs={"num_cpus": 2, "num_gpus": 0.5},
        device="cpu",
    )
    found = given.config(1, 12, "client")
    assert found == CollectorConfig(
        create_env=envs.make_counting,
        policy=None,
        frames_per_request=12,
        create_env_kwargs={"length": 3},
        options=found.options,
        models=[],
        replay_buffer="client",
        update_between_steps=True,
        threads=4,
        gpu_fraction=0.5,
    )
    assert found.options["device"] == "cpu"
    assert given.remote_options(1) == {"num_cpus": 2, "num_gpus": 0.5}


def test_collectors_beyond_a_list_begin_it_anew() -> None:
    given = recipes(policy_factory=[len, max], remote_configs=[{"num_cpus": 1}, {"num_cpus": 2}])
    assert [given.config(index, 12).policy_factory for index in range(4)] == [len, max, len, max]
    assert [given.remote_options(index)["num_cpus"] for index in range(4)] == [1, 2, 1, 2]


@pytest.mark.parametrize("none", [None, [], {}])
def test_a_collector_of_which_nothing_is_said_reserves_a_cpu(none: Any) -> None:
    assert recipes(remote_configs=none).remote_options(0) == {"num_cpus": 1}


@pytest.mark.parametrize(
    ("given", "gpus"),
    [
        pytest.param({"device": "cuda"}, [0.2, 0.2], id="all on a GPU"),
        pytest.param({"policy_device": torch.device("cuda:0")}, [0.2, 0.2], id="the policy on a GPU"),
        pytest.param({"device": ["cpu", "cuda"]}, [0, 0.2], id="one on a GPU"),
        pytest.param({"collector_kwargs": {"device": "cuda"}}, [0.2, 0.2], id="by collector_kwargs"),
        pytest.param({"device": "cpu"}, [0, 0], id="none on a GPU"),
        pytest.param({"device": "cuda", "remote_configs": {"num_cpus": 1}}, [0, 0], id="remote_configs without GPUs"),
        pytest.param({"device": "cuda", "transport": "torch_distributed"}, [0, 0], id="without Ray"),
    ],
)
def test_a_collector_on_a_gpu_gets_a_fifth_of_it_by_default(given: dict[str, Any], gpus: list[float]) -> None:
    found = recipes(num_collectors=2, **given)
    assert [found.remote_options(index).get("num_gpus", 0) for index in range(2)] == gpus
    assert [found.config(index, 12).gpu_fraction for index in range(2)] == gpus


def test_several_environments_of_a_collector_are_built_together() -> None:
    together = recipes(envs_per_collector=3).config(0, 12).create_env
    assert isinstance(together, BatchedEnvironmentFactory)
    assert together.__qualname__ == "make_counting"
    assert together(length=5).batch_size == (3,)


def test_an_environment_creator_is_made_where_it_is_asked_for() -> None:
    assert isinstance(recipes(use_env_creator=True).config(0, 12).create_env, EnvCreator)
    given = EnvCreator(envs.make_counting)
    assert recipes(given, use_env_creator=True).config(0, 12).create_env is given


@pytest.mark.parametrize(
    ("given", "own"),
    [
        ({"num_collectors": 2}, False),
        ({"create_env_fn": [envs.make_counting] * 2}, False),
        ({"create_env_fn": [envs.make_counting, envs.make_random]}, True),
        ({"create_env_kwargs": [{"length": 3}, {"length": 4}]}, True),
    ],
    ids=["one function", "one function in a list", "functions", "arguments"],
)
def test_constants_are_a_collectors_own_where_environments_are_of_different_kinds(
    given: dict[str, Any], own: bool
) -> None:
    assert recipes(**given).config(0, 12).own_constants is own


def test_a_simulator_has_the_deadlines_of_its_fleet() -> None:
    process = SimulatorProcess(["./sim"], ["grpc"])
    found = recipes(process=[process, None], num_collectors=2, request_timeout=timedelta(seconds=30))
    assert found.config(0, 12).simulator == Simulator(process, 300, 300, 30)
    assert found.config(1, 12).simulator is None
