"""Options of wrong types are refused in one sentence by every public class that takes options."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from tests import envs
from torch import nn
from torchrl.envs import ParallelEnv, SerialEnv
from torchrl.envs.utils import ExplorationType

from collectorfleet import (
    CollectorHosts,
    DistributedCollector,
    DistributedSyncCollector,
    EnvironmentParameters,
    EnvPool,
    Evaluation,
    Factory,
    InvalidOption,
    LearnerFeed,
    LearnerShards,
    RPCCollector,
    SimulatorProcess,
    Video,
)
from collectorfleet.client import pack
from collectorfleet.fleet.options import FleetOptions
from collectorfleet.learners.options import LearnerOptions
from collectorfleet.recovery.failure import OnEnvironmentError, ReplaceWithBackoff
from collectorfleet.scaling import EmptyWholePods

TIME = "a timedelta, such as timedelta(minutes=1)"
HOSTS = {"host": "127.0.0.1", "port": 0, "token": b"of sixteen bytes"}
SIMULATOR = {"command": ["./sim"], "ports": ["grpc"]}
LEARNERS = {"policy_class": object, "max_policies": 1}
FEED = {"shards": object.__new__(LearnerShards), "policies": {}, "split": dict}
FLEET = {"create_env_fn": [envs.make_counting], "frames_per_batch": 10}


@pytest.mark.parametrize(
    ("made", "base", "changes", "sentence"),
    [
        (Evaluation, {}, {"replicas": "1"}, "evaluation.replicas: '1' is a str; give an int"),
        (Evaluation, {}, {"replicas": None}, "evaluation.replicas: the value is None; give an int"),
        (Evaluation, {}, {"create_env_fn": 5}, "evaluation.create_env_fn: 5 is an int; give a function"),
        (Evaluation, {}, {"create_env_kwargs": []}, "evaluation.create_env_kwargs: [] is a list; give a dict"),
        (Evaluation, {}, {"process": {}}, "evaluation.process: {} is a dict; give a SimulatorProcess"),
        (
            *(Evaluation, {}, {"exploration_type": "mean"}),
            "evaluation.exploration_type: 'mean' is a str; give an ExplorationType, such as ExplorationType.RANDOM",
        ),
        (Evaluation, {}, {"every_frames": 1.5}, "evaluation.every_frames: 1.5 is a float; give an int"),
        (Evaluation, {}, {"every_seconds": "1"}, "evaluation.every_seconds: '1' is a str; give a float"),
        (Evaluation, {}, {"seeds": 3}, "evaluation.seeds: 3 is an int; give a list"),
        (Evaluation, {}, {"seeds": "12"}, "evaluation.seeds: '12' is a str; give a list"),
        (Evaluation, {}, {"seeds": [1, "2"]}, "evaluation.seeds: '2' is a str; give an int"),
        (Evaluation, {}, {"timeout": 5}, f"evaluation.timeout: 5 is an int; give {TIME}"),
        (Evaluation, {}, {"stop_at_return": "9"}, "evaluation.stop_at_return: '9' is a str; give a float"),
        (Evaluation, {}, {"keep_best": 1}, "evaluation.keep_best: 1 is an int; give True or False"),
        (Evaluation, {}, {"video": True}, "evaluation.video: True is a bool; give a Video"),
        (
            *(Evaluation, {}, {"device": 3.5}),
            "evaluation.device: 3.5 is a float; give a device, such as 'cpu', 'cuda:1' or 1",
        ),
        (Video, {}, {"episodes": True}, "evaluation.video.episodes: True is a bool; give an int"),
        (Video, {}, {"pixel_key": 1}, "evaluation.video.pixel_key: 1 is an int; give a str"),
        (SimulatorProcess, SIMULATOR, {"command": 3}, "process.command: 3 is an int; give a list"),
        (SimulatorProcess, SIMULATOR, {"ports": [80]}, "process.ports: 80 is an int; give a str"),
        (SimulatorProcess, SIMULATOR, {"ready_timeout": 5}, f"process.ready_timeout: 5 is an int; give {TIME}"),
        (EnvironmentParameters, {}, {"apply": 5}, "environment_parameters.apply: 5 is an int; give a str"),
        (Factory, {}, {"path": 5}, "Factory.path: 5 is an int; give a str"),
        (Factory, {"path": "a:b"}, {"kwargs": [1]}, "Factory.kwargs: [1] is a list; give a dict"),
        (ReplaceWithBackoff, {}, {"budget": "3"}, "failure_policy.budget: '3' is a str; give an int"),
        (
            *(ReplaceWithBackoff, {}, {"on_environment_error": "never"}),
            "failure_policy.on_environment_error: 'never' is a str; give an OnEnvironmentError",
        ),
        (LearnerOptions, LEARNERS, {"policy_class": "A"}, "policy_class: 'A' is a str; give a class"),
        (LearnerOptions, LEARNERS, {"max_policies": "2"}, "max_policies: '2' is a str; give an int"),
        (LearnerOptions, LEARNERS, {"config": None}, "config: the value is None; give a dict"),
        (LearnerOptions, LEARNERS, {"gpus": "1"}, "gpus: '1' is a str; give a float"),
        (LearnerOptions, LEARNERS, {"checkpoint_dir": 5}, "checkpoint_dir: 5 is an int; give a str or a Path"),
        (LearnerOptions, LEARNERS, {"start_timeout": 5}, f"start_timeout: 5 is an int; give {TIME}"),
        (CollectorHosts, HOSTS, {"host": 5}, "CollectorHosts.host: 5 is an int; give a str"),
        (CollectorHosts, HOSTS, {"port": "80"}, "CollectorHosts.port: '80' is a str; give an int"),
        (CollectorHosts, HOSTS, {"token": None}, "CollectorHosts.token: the value is None; give bytes"),
        (
            *(CollectorHosts, HOSTS, {"collectors_per_host": 1.5}),
            "CollectorHosts.collectors_per_host: 1.5 is a float; give an int",
        ),
        (EnvPool, {"task_id": "Pong-v5"}, {"num_envs": "8"}, "EnvPool.num_envs: '8' is a str; give an int"),
        (LearnerFeed, FEED, {"shards": None}, "LearnerFeed.shards: the value is None; give a LearnerShards"),
        (LearnerFeed, FEED, {"split": 3}, "LearnerFeed.split: 3 is an int; give a function"),
        (DistributedCollector, FLEET, {"update_interval": "1"}, "update_interval: '1' is a str; give an int"),
        (DistributedCollector, FLEET, {"backend": []}, "backend: [] is a list; give a str"),
        (
            *(DistributedSyncCollector, FLEET, {"max_weight_update_interval": "1"}),
            "max_weight_update_interval: '1' is a str; give an int",
        ),
        (RPCCollector, FLEET, {"tcp_port": 1.5}, "tcp_port: 1.5 is a float; give an int or a str"),
        (pack, {}, {"folder": "my-project"}, "pack.folder: 'my-project' is a str; give a Path"),
        (pack, {"folder": Path()}, {"include": "*.npz"}, "pack.include: '*.npz' is a str; give a list"),
        (FleetOptions, FLEET, {"threads_per_collector": ["1"]}, "threads_per_collector: '1' is a str; give an int"),
    ],
)
def test_a_value_of_a_wrong_type_is_refused_with_its_name(
    made: Any, base: dict[str, Any], changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InvalidOption) as refused:
        made(**base | changes)
    assert str(refused.value) == sentence


class Attributes(dict[str, Any]):
    """Keyword arguments whose attributes are their keys."""

    def __getattr__(self, name: str) -> Any:
        return self[name]


class Countable(nn.Module):
    """A policy with the attributes of a number."""

    ndim = 0

    def item(self) -> int:
        return 3


def test_no_attribute_of_an_environment_or_a_policy_is_read() -> None:
    """A ParallelEnv would start its processes."""
    parallel, serial = ParallelEnv(2, envs.make_counting), SerialEnv(2, envs.make_counting)
    for environment in (parallel, serial):
        FleetOptions(**FLEET | {"create_env_fn": [environment]}, create_env_kwargs=Attributes())
    assert parallel.is_closed
    policy = Countable()
    assert FleetOptions(policy=policy, **FLEET).policy is policy


@dataclass(frozen=True)
class Mine(ReplaceWithBackoff):
    """A user's subclass, with fields that have no rule here."""

    mode: Literal["a", "b"] = "a"
    names: list[str] = ()  # type: ignore[assignment]
    metrics: "NotImported | None" = None  # type: ignore[name-defined]  # noqa: F821, UP037


def test_fields_of_a_users_subclass_are_not_checked() -> None:
    assert Mine(mode="b").names == ()
    with pytest.raises(InvalidOption, match=r"^failure_policy\.budget: "):
        Mine(budget="3")  # type: ignore[arg-type]


def test_words_of_a_manifest_are_taken() -> None:
    given: dict[str, Any] = {"on_environment_error": "fail"}
    assert ReplaceWithBackoff(**given).on_environment_error is OnEnvironmentError.FAIL
    assert Evaluation(exploration_type=None).exploration_type is None


def test_a_class_is_no_policy_because_its_methods_have_no_object() -> None:
    with pytest.raises(InvalidOption, match=r"^scaling_policy: EmptyWholePods is a class; give an object with"):
        FleetOptions(**FLEET, scaling_policy=EmptyWholePods)  # type: ignore[arg-type]


def test_values_that_work_like_the_type_of_an_option_are_taken() -> None:
    given: dict[str, Any] = {
        "replicas": np.int64(2),
        "every_frames": 1e6,
        "seeds": np.arange(2),
        "stop_at_return": torch.tensor(3.0),
        "exploration_type": ExplorationType.MEAN,
        "keep_best": None,
        "device": torch.device("cpu"),
        "timeout": timedelta(seconds=1),
    }
    found = Evaluation(**given)
    assert (found.replicas, found.every_frames, found.seeds, found.stop_at_return) == (2, 1_000_000, [0, 1], 3.0)
    assert type(found.every_frames) is int
    learners: dict[str, Any] = LEARNERS | {"gpus": Fraction(1, 2), "replay_cpus": 1}
    assert LearnerOptions(**learners).gpus == Fraction(1, 2)
    learners["resources"] = {"a": torch.tensor(1.0), "b": np.array(2.0)}
    assert LearnerOptions(**learners).resources == {"a": 1.0, "b": 2.0}
    fleet: dict[str, Any] = FLEET | {"collector_kwargs": {"device": torch.tensor(0)}}
    assert FleetOptions(**fleet).collector_kwargs == {"device": 0}
    assert SimulatorProcess(["./sim", "--password", ""], ["grpc"]).command[-1] == ""
