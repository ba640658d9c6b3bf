"""Options of a fleet that cannot work are refused when they are said, each with its sentence."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tests import envs
from torchrl.data import LazyTensorStorage, ReplayBuffer

from collectorfleet.errors import InvalidOption
from collectorfleet.fleet.options import FleetOptions
from collectorfleet.fleet.rules.table import RULES
from collectorfleet.transport.distributed.launcher import LocalProcesses

ONE_WAY = (
    "weights of a fleet are published with collector.update_policy_weights_() or update_after_each_batch=True, and "
    "acknowledged by every collector; drop this argument"
)
NEEDS_SYNC = "only with sync=True; in Async every answer is a batch of its own"
EMPTY = "the list is empty; give one value for each collector"
SINGLE = "only with collector_class 'single' and without trajs_per_batch"
INTO_A_BUFFER = (
    "not together with replay_buffer, which collectors write to themselves; give the buffer a transform, or extend it "
    "with the batches that the iteration yields"
)
SHARED = SimpleNamespace(service_backend="ray")
SERVICE = (
    "the policy is an inference service, which has the weights and counts their versions; leave this out, and update "
    "it with update_policy_weights_(weights)"
)
THRESHOLD = {"preemptive_threshold": 0.5}
FIRST = {"first_shares": 1, "max_staleness": 1}

REFUSED = [
    *(
        pytest.param(("weights-have-one-way", name), {name: {}}, ONE_WAY, id=name)
        for name in ("weight_updater", "weight_sync_schemes", "weight_recv_schemes")
    ),
    *(
        pytest.param(("list-not-empty", name), {name: []}, EMPTY, id=f"empty {name}")
        for name in (
            *("create_env_fn", "create_env_kwargs", "policy_factory", "collector_kwargs"),
            *("device", "storing_device", "env_device", "policy_device", "threads_per_collector"),
        )
    ),
    *(
        pytest.param(("at-least", name), {name: least - 1}, f"{least - 1} is fewer than {least}", id=f"least {name}")
        for name, least in {
            "num_collectors": 1,
            "num_workers_per_collector": 1,
            "envs_per_collector": 1,
            "threads_per_collector": 1,
            "frames_per_batch": 1,
            "shares": 1,
            "trajs_per_batch": 1,
            "max_staleness": 0,
        }.items()
    ),
    *(
        pytest.param(
            ("some-time", name),
            {name: timedelta(seconds=seconds)},
            f"{seconds} s would be over before anything can happen; give more than 0",
            id=f"{seconds} s {name}",
        )
        for name in ("available_timeout", "request_timeout", "first_request_timeout")
        for seconds in (0, -1)
    ),
    *(
        pytest.param(
            ("list-has-one-for-each", name),
            {name: [given] * 3},
            "a list of 3 for 2 collectors; pass one value, or a list of 2",
            id=f"long {name}",
        )
        for name, given in {
            "create_env_fn": envs.make_counting,
            "create_env_kwargs": {},
            "policy_factory": envs.make_policy,
            "collector_kwargs": {},
            "remote_configs": {},
            "device": None,
            "storing_device": "cpu",
            "env_device": "cpu",
            "policy_device": "cpu",
            "threads_per_collector": 1,
        }.items()
    ),
    pytest.param(
        ("groups-have-names", "groups"),
        {"groups": []},
        "a list of names is expected, one for each collector",
        id="groups without names",
    ),
    pytest.param(
        ("collector-class-is-known", "collector_class"),
        {"collector_class": "many"},
        "'many'; use 'single', 'sync', 'async' or a class of TorchRL's",
        id="a class by no name",
    ),
    pytest.param(
        ("collector-class-is-known", "collector_class"),
        {"collector_class": int},
        "<class 'int'>; use 'single', 'sync', 'async' or a class of TorchRL's",
        id="another class",
    ),
    pytest.param(
        ("transport-is-known", "transport"),
        {"transport": "smoke"},
        "'smoke'; use 'object_store', 'torch_distributed' or 'rpc'",
        id="another transport",
    ),
    pytest.param(
        ("only-with-ray", "remote_configs"),
        {"transport": "torch_distributed", "remote_configs": {"num_cpus": 2}},
        "transport 'torch_distributed' has processes, and these are options of Ray actors; use transport "
        "'object_store', or leave it out",
        id="options of actors in a process group",
    ),
    pytest.param(
        ("launcher-of-a-gang", "launcher"),
        {"launcher": LocalProcesses()},
        "it starts processes that form a process group; use transport 'torch_distributed', or leave it out",
        id="a launcher of processes for Ray",
    ),
    pytest.param(
        ("only-with-ray", "ray_init_config"),
        {"transport": "torch_distributed", "ray_init_config": {"num_cpus": 2}},
        "transport 'torch_distributed' starts no Ray; use transport 'object_store', or leave it out",
        id="a Ray for a process group",
    ),
    pytest.param(
        ("only-with-ray", "replay_buffer"),
        {"transport": "torch_distributed", "replay_buffer": SHARED},
        "collectors write to a buffer that is a Ray actor, and with transport 'torch_distributed' they are not in Ray; "
        "use transport 'object_store', or extend the buffer with the batches that the iteration yields",
        id="a buffer in Ray for a process group",
    ),
    pytest.param(
        ("only-with-ray", "policy"),
        {"transport": "torch_distributed", "policy": SHARED},
        "an inference service is a Ray actor, and with transport 'torch_distributed' collectors are not in Ray; "
        "use transport 'object_store', or pass the module",
        id="an inference service for a process group",
    ),
    pytest.param(
        ("only-with-ray", "remote_configs"),
        {"transport": "rpc", "remote_configs": {"num_cpus": 2}},
        "transport 'rpc' has processes, and these are options of Ray actors; use transport 'object_store', or leave it "
        "out",
        id="options of actors over RPC",
    ),
    pytest.param(
        ("only-with-rpc", "tensorpipe_options"),
        {"tensorpipe_options": {"rpc_timeout": 10}},
        "transport 'object_store' has nothing travel over TensorPipe; use transport 'rpc', or leave it out",
        id="TensorPipe without RPC",
    ),
    pytest.param(
        ("only-with-rpc", "visible_devices"),
        {"transport": "torch_distributed", "visible_devices": "cuda:0"},
        "transport 'torch_distributed' gives no process its GPUs; use transport 'rpc', or leave it out",
        id="GPUs of processes without RPC",
    ),
    pytest.param(
        ("list-has-one-for-each", "visible_devices"),
        {"transport": "rpc", "visible_devices": [0]},
        "a list of 1 for 2 collectors; pass one value, or a list of 2",
        id="too few GPUs of processes",
    ),
    pytest.param(
        ("list-not-empty", "visible_devices"),
        {"transport": "rpc", "visible_devices": []},
        "the list is empty; give one value for each collector",
        id="no GPUs of processes",
    ),
    pytest.param(
        ("tensorpipe-options-are-known", "tensorpipe_options"),
        {"transport": "rpc", "tensorpipe_options": {"init_method": "env://", "device_maps": {}}},
        "device_maps, init_method cannot be set here; use num_worker_threads, rpc_timeout, _transports, _channels",
        id="options of a rendezvous",
    ),
    pytest.param(
        ("tensorpipe-options-are-known", "tensorpipe_options"),
        {"transport": "rpc", "tensorpipe_options": {"rpc_timeout": 0}},
        "rpc_timeout is 0; each call has a deadline, of more than 0 seconds",
        id="calls without a deadline",
    ),
    pytest.param(
        ("tensorpipe-options-are-known", "tensorpipe_options"),
        {"transport": "rpc", "tensorpipe_options": {"num_worker_threads": 0}},
        "num_worker_threads is 0; use at least 1",
        id="nobody who serves calls",
    ),
    pytest.param(
        ("visible-devices-are-known", "visible_devices"),
        {"transport": "rpc", "visible_devices": ["cuda:0", "tpu:1"]},
        "'tpu:1' is no GPU with a number; use 1, 'cuda:1' or 'cpu'",
        id="a device that is no GPU",
    ),
    pytest.param(
        ("rollout-is-known", "rollout"),
        {"rollout": "quick"},
        "'quick'; use 'auto', 'fast' or 'torchrl'",
        id="another loop",
    ),
    pytest.param(
        ("fast-rollout-needs-class-single", "rollout"),
        {"rollout": "fast", "collector_class": "sync"},
        "MultiSyncCollector steps by itself; use collector_class 'single', or 'auto'",
        id="a fast rollout in several processes",
    ),
    pytest.param(
        ("environment-error-is-known", "on_environment_error"),
        {"on_environment_error": "ignore"},
        "'ignore'; use 'fail' or 'restart'",
        id="an error that is ignored",
    ),
    pytest.param(
        ("environment-errors-have-one-judge", "on_environment_error"),
        {"on_environment_error": "restart", "failure_policy": object()},
        "a failure_policy is asked itself, with the fault EnvironmentError; leave one of the two out",
        id="two judges",
    ),
    pytest.param(
        ("class-single-has-one-worker", "num_workers_per_collector"),
        {"num_workers_per_collector": 2},
        "2 processes need collector_class 'sync' or 'async'; Collector has one, use envs_per_collector for several "
        "environments in it",
        id="workers of one process",
    ),
    pytest.param(
        ("random-frames-or-class-async", "init_random_frames"),
        {"init_random_frames": 100, "collector_class": "async"},
        "not with collector_class 'async', whose processes collect ahead and do not hear when to stop drawing at "
        "random; use 'single' or 'sync', or leave it out",
        id="random frames of processes that never pause",
    ),
    *(
        pytest.param(
            ("keywords-are-not-the-fleets", "collector_kwargs"),
            {"collector_kwargs": [None, {name: 5}]},
            f"{name} is the fleet's; {instead}",
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
            "weight_sync_schemes": "weights travel by update_policy_weights_() of FleetCollector",
            "weight_recv_schemes": "weights travel by update_policy_weights_() of FleetCollector",
            "weight_updater": "weights travel by update_policy_weights_() of FleetCollector",
        }.items()
    ),
    pytest.param(
        ("environments-need-a-function", "envs_per_collector"),
        {"create_env_fn": envs.make_counting(), "envs_per_collector": 2},
        "2 environments need a function that builds them; create_env_fn is a Counting",
        id="several of one environment",
    ),
    pytest.param(
        ("environment-is-or-builds-one", "create_env_fn"),
        {"create_env_fn": [envs.make_counting, "CartPole-v1"]},
        "a str neither is nor builds an environment",
        id="the name of an environment",
    ),
    pytest.param(
        ("one-policy", "policy_factory"),
        {"policy": envs.make_policy(), "policy_factory": envs.make_policy},
        "there is a policy already; pass one of the two",
        id="two policies",
    ),
    pytest.param(
        ("service-is-reachable", "policy"),
        {"policy": SimpleNamespace(service_backend="process")},
        "an inference service of this process cannot be asked by distant Ray actors; build it with "
        "service_backend='ray'",
        id="an inference service of this process",
    ),
    pytest.param(
        ("service-answers-one-process", "policy"),
        {"policy": SHARED, "collector_class": "sync"},
        "an inference service answers each collector, which has to be one process; use collector_class 'single'",
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
    pytest.param(
        ("staleness-in-async", "max_staleness"),
        {"sync": False, "max_staleness": 0},
        "0 in Async leaves one collector busy; use sync=True, or at least 1",
        id="on-policy in Async",
    ),
    *(
        pytest.param((rule, name), {"sync": False, name: value}, NEEDS_SYNC, id=f"{name} in Async")
        for rule, name, value in (
            ("shares-in-sync", "shares", 2),
            ("exact-staleness-in-sync", "exact_staleness", True),
            ("stragglers-in-sync", "first_shares", 1),
            ("stragglers-in-sync", "preemptive_threshold", 0.5),
        )
    ),
    pytest.param(
        ("first-shares-below-collectors", "first_shares"),
        {"first_shares": 2, "max_staleness": 1},
        "2 of 2 collectors; use 1 to 1",
        id="all shares first",
    ),
    pytest.param(
        ("first-shares-below-collectors", "first_shares"),
        {"first_shares": 0, "max_staleness": 1},
        "0 of 2 collectors; use 1 to 1",
        id="no share first",
    ),
    pytest.param(
        ("first-shares-need-staleness", "first_shares"),
        {"first_shares": 1},
        "1 leaves 1 shares to the next batch, which are a version older by then; allow it with max_staleness=1 or more",
        id="late shares on-policy",
    ),
    *(
        pytest.param(
            (rule, "first_shares"), {**FIRST, name: value}, f"not together with {name}; choose one", id=f"late, {name}"
        )
        for rule, name, value in (
            ("first-shares-or-shares", "shares", 2),
            ("exact-staleness-or-first-shares", "exact_staleness", True),
            ("one-way-with-stragglers", "preemptive_threshold", 0.5),
        )
    ),
    pytest.param(
        ("batch-divides-into-shares", "frames_per_batch"),
        {"frames_per_batch": 20, "envs_per_collector": 3},
        "20 does not divide into 2 shares of whole steps of 3 environments; use a multiple of 6",
        id="parts of a step",
    ),
    pytest.param(
        ("threshold-between-0-and-1", "preemptive_threshold"),
        {"preemptive_threshold": 1.0},
        "1; use a share between 0 and 1, such as 0.8",
        id="a threshold of all",
    ),
    pytest.param(
        ("threshold-between-0-and-1", "preemptive_threshold"),
        {"preemptive_threshold": 0.0},
        "0; use a share between 0 and 1, such as 0.8",
        id="a threshold of none",
    ),
    pytest.param(
        ("threshold-needs-class-single", "preemptive_threshold"),
        {**THRESHOLD, "collector_class": "sync"},
        SINGLE,
        id="processes cut short",
    ),
    pytest.param(
        ("threshold-or-whole-trajectories", "preemptive_threshold"),
        {**THRESHOLD, "trajs_per_batch": 2},
        SINGLE,
        id="trajectories cut short",
    ),
    pytest.param(
        ("threshold-or-whole-trajectories", "preemptive_threshold"),
        {**THRESHOLD, "collector_kwargs": {"trajs_per_batch": 2}},
        SINGLE,
        id="trajectories of a keyword cut short",
    ),
    pytest.param(
        ("threshold-or-whole-trajectories", "split_trajs"),
        {**THRESHOLD, "split_trajs": True},
        "not together with preemptive_threshold, whose batches have gaps",
        id="split trajectories cut short",
    ),
    pytest.param(
        ("update-between-steps-needs-class-single", "update_between_steps"),
        {"update_between_steps": True, "collector_class": "sync"},
        "only with collector_class 'single'",
        id="between the steps of processes",
    ),
    pytest.param(
        ("exact-staleness-or-update-between-steps", "update_between_steps"),
        {"update_between_steps": True, "exact_staleness": True},
        "not together with exact_staleness, which allows one version only",
        id="exact and between",
    ),
    pytest.param(
        ("compact-observations-of-one-version", "compact_obs"),
        {"collector_kwargs": {"compact_obs": True}, "trajs_per_batch": 2},
        "not with trajs_per_batch or collector_class 'async'",
        id="compact observations of several versions",
    ),
    pytest.param(
        ("exact-staleness-or-mixed-versions", "exact_staleness"),
        {"exact_staleness": True, "collector_class": "async"},
        "not with trajs_per_batch or collector_class 'async', whose batches mix versions",
        id="exact and mixed",
    ),
    *(
        pytest.param(
            ("distributed-buffer-takes-equal-batches", name),
            {"replay_buffer": SimpleNamespace(service_backend="ray", transport_kind="distributed"), name: given},
            "not with a replay buffer of transport='distributed', which takes batches of one size only; build it with "
            "transport='ray'",
            id=f"{name} past Ray",
        )
        for name, given in (("preemptive_threshold", 0.5), ("trajs_per_batch", 2))
    ),
    *(
        pytest.param(("replay-buffer-or-batches", name), {"replay_buffer": SHARED, name: given}, INTO_A_BUFFER, id=name)
        for name, given in (("split_trajs", True), ("postproc", len), ("compact_observations", True))
    ),
]
TORCHRLS = [
    pytest.param(
        ("replay-buffer-is-shared", "replay_buffer"),
        {"replay_buffer": ReplayBuffer(storage=LazyTensorStorage(10))},
        "a buffer of this process cannot be shared with distant Ray actors; build it with "
        "ReplayBuffer(..., service_backend='ray'), or extend it with the batches that the iteration yields",
        id="a buffer of this process",
    ),
]


def options(changes: dict[str, Any]) -> FleetOptions:
    given = {"create_env_fn": envs.make_counting, "frames_per_batch": 24, "num_collectors": 2, "sync": True}
    return FleetOptions(**given | changes)


@pytest.mark.parametrize(("rule", "changes", "sentence"), REFUSED)
def test_options_that_cannot_work_are_refused(rule: tuple[str, str], changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidOption) as refused:
        options(changes)
    assert str(refused.value) == f"{rule[1]}: {sentence}"


@pytest.mark.parametrize(("rule", "changes", "sentence"), TORCHRLS)
def test_a_type_that_torchrl_refuses_is_a_type_error(
    rule: tuple[str, str], changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(TypeError) as refused:
        options(changes)
    assert str(refused.value) == f"{rule[1]}: {sentence}"


def test_each_rule_is_asked_once_and_broken_by_a_case_here() -> None:
    rules = [(rule.name, rule.option) for rule in RULES]
    assert len(rules) == len(set(rules))
    assert set(rules) == {case.values[0] for case in REFUSED + TORCHRLS}
