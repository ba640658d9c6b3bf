"""Of values that no option can have."""

from __future__ import annotations

import pytest

from tests import envs

ONE_WAY = (
    "a fleet publishes weights with collector.update_policy_weights_() or update_after_each_batch=True; remove this "
    "argument"
)
EMPTY = "the list is empty; give one value for each collector"

# A value of a wrong type for each option whose type is checked, and the types that the option takes.
WRONG_TYPES: dict[str, tuple[object, str, str]] = {
    **dict.fromkeys(
        (
            *("trust_policy", "reset_at_each_iter", "split_trajs", "sync", "update_after_each_batch"),
            *("use_env_creator", "no_cuda_sync", "exact_staleness", "compact_observations", "update_between_steps"),
            "copy",
        ),
        ("no", "'no' is a str", "True or False"),
    ),
    **dict.fromkeys(
        (
            *("total_frames", "max_frames_per_traj", "init_random_frames", "num_workers_per_collector"),
            *("num_collectors", "max_weight_update_interval", "trajs_per_batch", "envs_per_collector", "shares"),
            *("first_shares", "min_available", "threads_per_collector"),
        ),
        (1.5, "1.5 is a float", "an int"),
    ),
    **dict.fromkeys(
        ("postproc", "pre_collect_hook", "post_collect_hook", "curriculum"), (3, "3 is an int", "a function")
    ),
    **dict.fromkeys(
        (
            *("create_env_kwargs", "collector_kwargs", "ray_init_config", "remote_configs", "models"),
            *("tensorpipe_options", "resume_from"),
        ),
        ("x", "'x' is a str", "a dict"),
    ),
    **dict.fromkeys(
        ("available_timeout", "request_timeout", "first_request_timeout"),
        (5, "5 is an int", "a timedelta, such as timedelta(minutes=1)"),
    ),
    "frames_per_batch": ("20", "'20' is a str", "an int"),
    "max_staleness": (True, "True is a bool", "an int"),
    "preemptive_threshold": ("0.8", "'0.8' is a str", "a float"),
    "exploration_type": ("random", "'random' is a str", "an ExplorationType, such as ExplorationType.RANDOM"),
    "weights_dtype": ("float16", "'float16' is a str", "a torch.dtype, such as torch.float16"),
    "weights_filter": ("actor", "'actor' is a str", "a list or a function"),
    "groups": ("ab", "'ab' is a str", "a list"),
    "evaluation": (True, "True is a bool", "an Evaluation"),
    "process": (5, "5 is an int", "a SimulatorProcess"),
    "failure_policy": (5, "5 is an int", "an object with decide()"),
    "scaling_policy": ("x", "'x' is a str", "an object with leaving()"),
    **dict.fromkeys(
        ("device", "storing_device", "env_device", "policy_device"),
        (3.5, "3.5 is a float", "a device, such as 'cpu', 'cuda:1' or 1"),
    ),
    "environment_parameters": ({}, "{} is a dict", "an EnvironmentParameters"),
}

REFUSED = [
    *(
        pytest.param(("has-its-type", name), {name: given}, f"{found}; give {types}", id=f"type of {name}")
        for name, (given, found, types) in WRONG_TYPES.items()
    ),
    pytest.param(
        ("has-its-type", "frames_per_batch"), {"frames_per_batch": None}, "the value is None; give an int", id="None"
    ),
    pytest.param(
        ("has-its-type", "threads_per_collector"),
        {"threads_per_collector": [1, "2"]},
        "'2' is a str; give an int",
        id="type in a list",
    ),
    pytest.param(
        ("keyword-is-a-device", "collector_kwargs"),
        {"collector_kwargs": [{"device": ["cpu", "cdua:0"]}, {"device": "cpu"}]},
        "device: 'cdua:0' is not a device; use a device such as 'cpu', 'cuda:1' or 1",
        id="device of a keyword",
    ),
    pytest.param(
        ("has-its-type", "groups"), {"groups": ["a", 5]}, "5 is an int; give a str", id="type of an element of a list"
    ),
    *(
        pytest.param(("weights-have-one-way", name), {name: {}}, ONE_WAY, id=name)
        for name in ("weight_updater", "weight_sync_schemes", "weight_recv_schemes")
    ),
    *(
        pytest.param(("list-not-empty", name), {name: []}, EMPTY, id=f"empty {name}")
        for name in (
            *("create_env_fn", "create_env_kwargs", "policy_factory", "collector_kwargs"),
            *("device", "storing_device", "env_device", "policy_device", "threads_per_collector"),
            "process",
        )
    ),
    *(
        pytest.param(
            ("list-has-one-for-each", name),
            {name: [given] * 3},
            "the list has length 3, but the fleet has 2 collectors; pass one value, or a list of 2",
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
            "process": None,
        }.items()
    ),
    pytest.param(
        ("groups-have-names", "groups"),
        {"groups": []},
        "a list of names is expected, one for each collector",
        id="groups without names",
    ),
    pytest.param(
        ("list-has-one-for-each", "visible_devices"),
        {"transport": "rpc", "visible_devices": [0]},
        "the list has length 1, but the fleet has 2 collectors; pass one value, or a list of 2",
        id="too few GPUs of processes",
    ),
    pytest.param(
        ("list-not-empty", "visible_devices"),
        {"transport": "rpc", "visible_devices": []},
        "the list is empty; give one value for each collector",
        id="no GPUs of processes",
    ),
]
