"""What a fleet's spec makes of FleetCollector's arguments."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import torch
from tests.manifests import ABSENT, fleet
from torchrl.envs.utils import ExplorationType

from collectorfleet.run.collector_options import collector_options
from collectorfleet.user_code import Factory, Function
from collectorfleet_api import v1alpha1 as api
from collectorfleet_api.names import WORKER_GROUP


def options(changes: dict[str, Any] | None = None, *, gpu: float = 0) -> dict[str, Any]:
    return collector_options(fleet(changes).spec, {WORKER_GROUP: gpu})


def test_every_field_arrives_under_its_own_name() -> None:
    changes = {
        "spec.environment.kwargs": {"id": "HalfCheetah-v5"},
        "spec.environment.perCollector": 8,
        "spec.policy.trust": True,
        "spec.collection": {
            "framesPerBatch": 4000,
            "totalFrames": 10_000,
            "maxStaleness": 3,
            "exactStaleness": True,
            "shares": 5,
            "stragglers": {"preemptiveThreshold": 0.8},
            "maxFramesPerTraj": 500,
            "resetAtEachIter": True,
            "initRandomFrames": 2000,
            "explorationType": "Mean",
            "rollout": "TorchRL",
            "compactObservations": True,
            "splitTrajs": True,
            "trajsPerBatch": 10,
            "copy": False,
        },
        "spec.collectors": {
            "replicas": 4,
            "minAvailable": 2,
            "resources": {"cpu": "2500m", "gpu": 0.25, "custom": {"license": 0.5}},
            "class": "Sync",
            "numWorkersPerCollector": 2,
            "devices": {"device": "cuda", "storingDevice": "cpu", "envDevice": "cpu", "policyDevice": "cuda:0"},
            "noCudaSync": True,
            "preCollectHook": "my_hooks:before",
            "postCollectHook": "my_hooks:after",
            "kwargs": {"cat_results": "stack"},
            "requestTimeoutSeconds": 30,
            "firstRequestTimeoutSeconds": 120,
            "availableTimeoutSeconds": 900,
            "onEnvironmentError": "Restart",
        },
        "spec.weights": {
            "updateAfterEachBatch": False,
            "maxWeightUpdateInterval": 4,
            "dtype": "BFloat16",
            "include": ["actor."],
            "updateBetweenSteps": True,
        },
    }
    assert options(changes, gpu=0.25) == {
        "create_env_fn": Factory("my_envs:make_env", {"id": "HalfCheetah-v5"}),
        "envs_per_collector": 8,
        "trust_policy": True,
        "frames_per_batch": 4000,
        "total_frames": 10_000,
        "sync": True,
        "max_staleness": 3,
        "exact_staleness": True,
        "shares": 5,
        "preemptive_threshold": 0.8,
        "max_frames_per_traj": 500,
        "reset_at_each_iter": True,
        "init_random_frames": 2000,
        "exploration_type": ExplorationType.MEAN,
        "rollout": "torchrl",
        "compact_observations": True,
        "split_trajs": True,
        "trajs_per_batch": 10,
        "copy": False,
        "transport": "object_store",
        "num_collectors": 4,
        "min_available": 2,
        # 2.5 CPUs are enough for three threads.
        "threads_per_collector": 3,
        "collector_class": "sync",
        "num_workers_per_collector": 2,
        "device": "cuda",
        "storing_device": "cpu",
        "env_device": "cpu",
        "policy_device": "cuda:0",
        "no_cuda_sync": True,
        "pre_collect_hook": Function("my_hooks:before"),
        "post_collect_hook": Function("my_hooks:after"),
        "collector_kwargs": {"cat_results": "stack"},
        "request_timeout": timedelta(seconds=30),
        "first_request_timeout": timedelta(minutes=2),
        "available_timeout": timedelta(minutes=15),
        "on_environment_error": "restart",
        "update_after_each_batch": False,
        "max_weight_update_interval": 4,
        "weights_dtype": torch.bfloat16,
        "weights_filter": ["actor."],
        "update_between_steps": True,
        # One CPU is one collector slot of a worker pod; the resource keeps collectors off head and driver.
        "remote_configs": {"num_cpus": 1, "num_gpus": 0.25, "resources": {"collector": 1, "license": 0.5}},
    }


def test_late_shares_join_the_next_batch_where_so_many_come_first() -> None:
    stragglers = {"spec.collection.stragglers": {"firstShares": 2}, "spec.collection.maxStaleness": 1}
    assert options(stragglers)["first_shares"] == 2
    # Scaled down, a batch has as many shares as before and waits for all of them.
    scaled = options({**stragglers, "spec.collectors.replicas": 2})
    assert "first_shares" not in scaled
    assert scaled["shares"] == 2


def test_what_is_absent_is_left_to_the_collector() -> None:
    assert set(options()) == {
        *("create_env_fn", "envs_per_collector", "remote_configs", "num_collectors", "min_available"),
        *("frames_per_batch", "sync", "exact_staleness", "reset_at_each_iter", "split_trajs", "copy"),
        *("exploration_type", "rollout", "compact_observations", "transport"),
        *("collector_class", "num_workers_per_collector", "threads_per_collector"),
        *("request_timeout", "first_request_timeout", "available_timeout", "on_environment_error"),
        *("update_after_each_batch", "update_between_steps"),
    }


@pytest.mark.parametrize(
    ("asked", "gpu", "there"),
    [
        pytest.param("cuda", 0.25, "cuda", id="a share"),
        pytest.param("cuda:1", 2, "cuda:1", id="the second of two"),
        pytest.param("cuda", 0, "cpu", id="no GPU"),
        pytest.param("cuda:1", 0.5, "cuda:0", id="fewer GPUs"),
        pytest.param("cpu", 2, "cpu", id="cpu"),
    ],
)
def test_a_machine_with_fewer_gpus_than_the_manifest_uses_those_it_has(asked: str, gpu: float, there: str) -> None:
    assert options({"spec.collectors.devices.device": asked}, gpu=gpu)["device"] == there


@pytest.mark.parametrize("asked", list(api.ExplorationType))
def test_torchrl_explores_as_the_manifest_says(asked: api.ExplorationType) -> None:
    found = options({"spec.collection.explorationType": asked.value})["exploration_type"]
    assert found is ExplorationType[asked.value.upper()]


@pytest.mark.parametrize("asked", list(api.WeightsDtype))
def test_weights_travel_as_the_type_that_the_manifest_says(asked: api.WeightsDtype) -> None:
    found = options({"spec.weights.dtype": asked.value})["weights_dtype"]
    assert repr(found) == f"torch.{asked.value.lower()}"


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"spec.weights.updateAfterEachBatch": False}, id="asked"),
        pytest.param({"spec.driver.train": ABSENT, "spec.output": {"path": "/data"}}, id="nothing-trains"),
    ],
)
def test_weights_are_not_published_after_each_batch(changes: dict[str, Any]) -> None:
    assert options(changes)["update_after_each_batch"] is False


def test_a_fleet_scaled_to_a_number_that_does_not_divide_begins_with_one_that_does() -> None:
    found = options({"spec.collectors.replicas": 6})
    assert found["num_collectors"] == 5
    assert "shares" not in found, "so that they follow the number of collectors"


def test_a_fleet_of_several_processes_each_gets_more_shares_instead() -> None:
    scaled = {"spec.collectors.replicas": 6, "spec.collectors.class": "Sync"}
    assert (options(scaled)["num_collectors"], options(scaled)["shares"]) == (6, 8)


def test_a_fleet_in_async_has_no_shares() -> None:
    scaled = {"spec.collection.mode": "Async", "spec.collectors.replicas": 6, "spec.collectors.class": "Sync"}
    assert options(scaled)["num_collectors"] == 6
    assert "shares" not in options(scaled)


GROUPS = [
    {"name": "small", "replicas": 3},
    {
        "name": "big",
        "environment": {"kwargs": {"size": 2}},
        "resources": {"cpu": 4, "gpu": 0.5},
        "devices": {"device": "cuda"},
    },
]


def test_what_differs_between_groups_is_a_list_of_their_turns() -> None:
    changes = {"spec.environment.kwargs": {"id": "a"}, "spec.collectors.groups": GROUPS}
    found = collector_options(fleet(changes).spec, {"small": 0, "big": 0.5})
    small, big = Factory("my_envs:make_env", {"id": "a"}), Factory("my_envs:make_env", {"id": "a", "size": 2})
    assert found["groups"] == ["small", "big", "small", "small"]
    assert found["create_env_fn"] == [small, big, small, small]
    assert found["threads_per_collector"] == [1, 4, 1, 1]
    assert found["device"] == [None, "cuda", None, None]
    assert [one["resources"] for one in found["remote_configs"][:2]] == [
        {"collector": 1, "collector-small": 1},
        {"collector": 1, "collector-big": 1},
    ]
    assert [one["num_gpus"] for one in found["remote_configs"]] == [0, 0.5, 0, 0]
    assert found["num_collectors"] == 4


def test_each_group_asks_ray_for_its_own_custom_resources() -> None:
    own = [GROUPS[0], {**GROUPS[1], "resources": {"gpu": 0.5, "custom": {"disk": 2}}}]
    changes = {"spec.collectors.resources.custom": {"license": 0.5}, "spec.collectors.groups": own}
    found = collector_options(fleet(changes).spec, {"small": 0, "big": 0.5})
    assert [one["resources"] for one in found["remote_configs"][:2]] == [
        {"collector": 1, "collector-small": 1, "license": 0.5},
        {"collector": 1, "collector-big": 1, "disk": 2},
    ]


def test_what_groups_have_in_common_is_one_value() -> None:
    changes = {"spec.collectors.groups": [{"name": "a", "replicas": 3}, {"name": "b"}]}
    found = collector_options(fleet(changes).spec, {"a": 0, "b": 0})
    assert found["create_env_fn"] == Factory("my_envs:make_env", {})
    assert found["threads_per_collector"] == 1


def test_a_scaled_fleet_has_the_same_turns() -> None:
    spec = fleet({"spec.collectors.groups": GROUPS, "spec.collectors.replicas": 10}).spec
    found = collector_options(spec, {"small": 0, "big": 0.5})
    assert (found["num_collectors"], len(found["groups"])) == (10, 4)
