"""What evaluators are made of, from the options of the fleet and those of the evaluation."""

from __future__ import annotations

from typing import Any

from tests import envs, simulated
from torchrl.envs.utils import ExplorationType

from collectorfleet.actor.config import CollectorConfig
from collectorfleet.actor.simulator.options import SimulatorProcess
from collectorfleet.evaluation.options import Evaluation
from collectorfleet.fleet.evaluators import _config, _measure
from collectorfleet.fleet.options import FleetOptions


def config(evaluation: Evaluation, **options: Any) -> CollectorConfig:
    given = {"create_env_fn": envs.make_counting, "policy": envs.make_policy(), "frames_per_batch": 24, "sync": True}
    return _config(FleetOptions(**given | {"num_collectors": 2} | options | {"evaluation": evaluation}), evaluation)


def test_evaluators_play_the_training_environment_with_its_arguments_unless_told_otherwise() -> None:
    found = config(Evaluation(), create_env_kwargs={"length": 7})
    assert (found.create_env, found.create_env_kwargs) == (envs.make_counting, {"length": 7})
    assert found.plays_episodes


def test_an_environment_of_its_own_gets_no_arguments_of_the_training() -> None:
    found = config(Evaluation(create_env_fn=envs.make_random), create_env_kwargs={"length": 7})
    assert (found.create_env, found.create_env_kwargs) == (envs.make_random, {})


def test_arguments_may_differ_from_those_of_the_training() -> None:
    found = config(Evaluation(create_env_kwargs={"length": 3}), create_env_kwargs={"length": 7})
    assert (found.create_env, found.create_env_kwargs) == (envs.make_counting, {"length": 3})


def test_the_limit_of_an_episode_is_that_of_the_training() -> None:
    assert config(Evaluation(), max_frames_per_traj=50).options["max_frames_per_traj"] == 50
    assert config(Evaluation()).options["max_frames_per_traj"] is None


def test_an_evaluator_with_a_share_of_a_gpu_takes_no_more_than_this_share_of_its_memory() -> None:
    shared = Evaluation(device="cuda", remote_config={"num_gpus": 0.25})
    assert config(shared).gpu_fraction == 0.25
    assert config(shared).options["device"] == "cuda"
    assert config(Evaluation()).gpu_fraction == 0
    # Without Ray nobody counts GPUs.
    assert config(shared, transport="torch_distributed").gpu_fraction == 0


def test_actions_are_deterministic_unless_told_otherwise() -> None:
    assert config(Evaluation()).options["exploration_type"] is ExplorationType.DETERMINISTIC
    found = config(Evaluation(exploration_type=ExplorationType.RANDOM), exploration_type=ExplorationType.MEAN)
    assert found.options["exploration_type"] is ExplorationType.RANDOM


def test_constants_that_collectors_keep_for_themselves_are_those_of_the_evaluators_environment() -> None:
    assert not config(Evaluation()).own_constants
    # TorchRL's collectors of several processes publish no statistics.
    assert config(Evaluation(), collector_class="sync", num_workers_per_collector=2).own_constants
    own = Evaluation(create_env_fn=envs.make_counting)
    assert config(own, create_env_kwargs=[{"length": 1}, {"length": 2}]).own_constants


def measure(*command: str) -> str:
    evaluation = Evaluation(create_env_fn=simulated.make, process=SimulatorProcess(list(command), ["grpc"]))
    options = FleetOptions(envs.make_counting, envs.make_policy(), frames_per_batch=10, evaluation=evaluation)
    return _measure(options, evaluation)


def test_the_measure_tells_simulators_apart_and_has_no_word_that_may_be_a_secret() -> None:
    found = measure("./server", "--licence-key", "S3CRET-0123456789", "--map", "town")
    assert "simulator ['./server', " in found
    assert "S3CRET" not in found
    assert found != measure("./server", "--licence-key", "S3CRET-0123456789", "--map", "village")
