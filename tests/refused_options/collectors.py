"""Of collectors and their weights."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from torchrl.collectors import AsyncBatchedCollector, AsyncCollector, BaseCollector, MultiCollector
from torchrl.collectors.distributed import RayCollector
from torchrl.collectors.llm import LLMCollector

from collectorfleet.recovery.failure import ReplaceWithBackoff
from tests import envs
from tests.refused_options.parts import SHARED

SERVICE = (
    "the policy is an inference service, which has the weights and counts their versions; leave this option out, and "
    "update the weights with update_policy_weights_(weights)"
)

REFUSED = [
    pytest.param(
        ("collector-class-is-known", "collector_class"),
        {"collector_class": "many"},
        "'many' is unknown; use 'single', 'sync', 'async' or a class of TorchRL's",
        id="a class by no name",
    ),
    pytest.param(
        ("collector-class-is-known", "collector_class"),
        {"collector_class": int},
        "<class 'int'> is unknown; use 'single', 'sync', 'async' or a class of TorchRL's",
        id="another class",
    ),
    *(
        pytest.param(
            ("collector-class-is-driven", "collector_class"),
            {"collector_class": one},
            f"a fleet cannot use {one.__name__}; use 'single', 'sync', 'async', or a subclass of Collector, "
            "MultiSyncCollector or MultiAsyncCollector that takes the same arguments",
            id=f"a fleet of {one.__name__}",
        )
        for one in (AsyncBatchedCollector, AsyncCollector, BaseCollector, MultiCollector, LLMCollector, RayCollector)
    ),
    pytest.param(
        ("policy-acts", "policy"),
        {"policy": 3},
        "an object of type int cannot act; pass a module, or a function of a TensorDict",
        id="a policy that is a number",
    ),
    pytest.param(
        ("policy-acts", "policy"),
        {"policy": torch.nn.Identity},
        "the class Identity is not a policy; pass an instance, Identity(...)",
        id="the class of a policy",
    ),
    pytest.param(
        ("policy-factory-is-called", "policy_factory"),
        {"policy_factory": [envs.make_policy, torch.zeros(1)]},
        "a Tensor cannot be called; pass a function that builds a policy",
        id="a policy factory that is a tensor",
    ),
    pytest.param(
        ("rollout-is-known", "rollout"),
        {"rollout": "quick"},
        "'quick' is unknown; use 'auto', 'fast' or 'torchrl'",
        id="another loop",
    ),
    pytest.param(
        ("fast-rollout-needs-class-single", "rollout"),
        {"rollout": "fast", "collector_class": "sync"},
        "MultiSyncCollector has no fast loop; set collector_class to 'single', or rollout to 'auto'",
        id="a fast rollout in several processes",
    ),
    pytest.param(
        ("environment-error-is-known", "on_environment_error"),
        {"on_environment_error": "ignore"},
        "'ignore' is unknown; use 'fail' or 'restart'",
        id="an error that is ignored",
    ),
    pytest.param(
        ("environment-errors-have-one-judge", "on_environment_error"),
        {"on_environment_error": "restart", "failure_policy": ReplaceWithBackoff()},
        "failure_policy also decides about exceptions in environments; leave on_environment_error or failure_policy "
        "out",
        id="two judges",
    ),
    pytest.param(
        ("class-single-has-one-worker", "num_workers_per_collector"),
        {"num_workers_per_collector": 2},
        "2 processes need collector_class 'sync' or 'async'. For several environments in one process, set "
        "envs_per_collector",
        id="workers of one process",
    ),
    pytest.param(
        ("random-frames-or-class-async", "init_random_frames"),
        {"init_random_frames": 100, "collector_class": "async"},
        "cannot be used with collector_class 'async', whose processes collect ahead and do not know when random "
        "actions end; use 'single' or 'sync'",
        id="random frames of processes that never pause",
    ),
    *(
        pytest.param(
            ("keywords-are-not-the-fleets", "collector_kwargs"),
            {"collector_kwargs": [None, {name: 5}]},
            f"{name} is set by the fleet; {instead}",
            id=f"keyword {name}",
        )
        for name, instead in {
            "create_env_fn": "pass create_env_fn to FleetCollector",
            "policy": "pass policy to FleetCollector",
            "frames_per_batch": "pass frames_per_batch to FleetCollector",
            "total_frames": "pass total_frames to FleetCollector",
            "init_random_frames": "pass init_random_frames to FleetCollector, which counts them over all collectors",
            "split_trajs": "pass split_trajs to FleetCollector, which knows the trajectories of all collectors",
            "replay_buffer": "pass replay_buffer to FleetCollector",
            "interruptor": "pass preemptive_threshold to FleetCollector",
            "weight_sync_schemes": "send weights with update_policy_weights_() of FleetCollector",
            "weight_recv_schemes": "send weights with update_policy_weights_() of FleetCollector",
            "weight_updater": "send weights with update_policy_weights_() of FleetCollector",
        }.items()
    ),
    pytest.param(
        ("environments-need-a-function", "envs_per_collector"),
        {"create_env_fn": envs.make_counting(), "envs_per_collector": 2},
        "create_env_fn is a Counting, of which the fleet cannot build 2; pass a function that builds an environment",
        id="several of one environment",
    ),
    pytest.param(
        ("environment-is-or-builds-one", "create_env_fn"),
        {"create_env_fn": [envs.make_counting, "CartPole-v1"]},
        "a str is neither an environment nor a function that builds an environment",
        id="the name of an environment",
    ),
    pytest.param(
        ("one-policy", "policy_factory"),
        {"policy": envs.make_policy(), "policy_factory": envs.make_policy},
        "cannot be used together with 'policy'; pass one of the two",
        id="two policies",
    ),
    pytest.param(
        ("service-is-reachable", "policy"),
        {"policy": SimpleNamespace(service_backend="process")},
        "Ray actors on other nodes cannot reach an inference service in this process; build the service with "
        "service_backend='ray'",
        id="an inference service of this process",
    ),
    pytest.param(
        ("service-answers-one-process", "policy"),
        {"policy": SHARED, "collector_class": "sync"},
        "a collector that uses an inference service has to be one process; use collector_class 'single'",
        id="processes that share an inference service",
    ),
    *(
        pytest.param(
            ("service-has-the-weights", name),
            {"policy": SHARED, name: value},
            SERVICE,
            id=f"an inference service, {name}",
        )
        for name, value in (
            ("update_after_each_batch", True),
            ("update_between_steps", True),
            ("max_weight_update_interval", 3),
            ("max_staleness", 0),
            ("exact_staleness", True),
            ("weights_dtype", torch.bfloat16),
            ("weights_filter", ["actor."]),
            ("models", {"env.model": torch.nn.Linear(1, 1)}),
        )
    ),
]
