"""Of values that no option can have."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests import envs

ONE_WAY = (
    "weights of a fleet are published with collector.update_policy_weights_() or update_after_each_batch=True, and "
    "acknowledged by every collector; drop this argument"
)
EMPTY = "the list is empty; give one value for each collector"

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
            "process",
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
            f"{seconds} s is not a positive time; give more than 0",
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
        "a list of 1 for 2 collectors; pass one value, or a list of 2",
        id="too few GPUs of processes",
    ),
    pytest.param(
        ("list-not-empty", "visible_devices"),
        {"transport": "rpc", "visible_devices": []},
        "the list is empty; give one value for each collector",
        id="no GPUs of processes",
    ),
]
