"""Of what carries frames and weights."""

from __future__ import annotations

import pytest

from collectorfleet.scaling import EmptyWholePods
from collectorfleet.transport.distributed.launcher import LocalProcesses
from tests.refused_options.parts import SHARED

REFUSED = [
    pytest.param(
        ("transport-is-known", "transport"),
        {"transport": "smoke"},
        "'smoke' is unknown; use 'object_store', 'torch_distributed' or 'rpc'",
        id="another transport",
    ),
    pytest.param(
        ("only-with-ray", "remote_configs"),
        {"transport": "torch_distributed", "remote_configs": {"num_cpus": 2}},
        "transport 'torch_distributed' starts processes, but only Ray actors have these options; use transport "
        "'object_store', or leave remote_configs out",
        id="options of actors in a process group",
    ),
    pytest.param(
        ("launcher-of-a-gang", "launcher"),
        {"launcher": LocalProcesses()},
        "a launcher starts processes that form a process group; use transport 'torch_distributed', or leave launcher "
        "out",
        id="a launcher of processes for Ray",
    ),
    pytest.param(
        ("hosts-leave-by-rank", "scaling_policy"),
        {"transport": "torch_distributed", "launcher": LocalProcesses(), "scaling_policy": EmptyWholePods()},
        (
            "cannot be used with launcher, because the fleet then removes the hosts of the highest ranks first; leave "
            "scaling_policy out"
        ),
        id="others than the last hosts leave",
    ),
    pytest.param(
        ("only-with-ray", "ray_init_config"),
        {"transport": "torch_distributed", "ray_init_config": {"num_cpus": 2}},
        "transport 'torch_distributed' starts no Ray; use transport 'object_store', or leave ray_init_config out",
        id="a Ray for a process group",
    ),
    pytest.param(
        ("only-with-ray", "replay_buffer"),
        {"transport": "torch_distributed", "replay_buffer": SHARED},
        "with transport 'torch_distributed', collectors cannot write to a buffer that is a Ray actor; use transport "
        "'object_store', or extend the buffer yourself with each batch",
        id="a buffer in Ray for a process group",
    ),
    pytest.param(
        ("only-with-ray", "policy"),
        {"transport": "torch_distributed", "policy": SHARED},
        "with transport 'torch_distributed', collectors cannot call an inference service, which is a Ray actor; use "
        "transport 'object_store', or pass the module",
        id="an inference service for a process group",
    ),
    pytest.param(
        ("only-with-ray", "remote_configs"),
        {"transport": "rpc", "remote_configs": {"num_cpus": 2}},
        "transport 'rpc' starts processes, but only Ray actors have these options; use transport 'object_store', or "
        "leave remote_configs out",
        id="options of actors over RPC",
    ),
    pytest.param(
        ("only-with-rpc", "tensorpipe_options"),
        {"tensorpipe_options": {"rpc_timeout": 10}},
        "transport 'object_store' does not use TensorPipe; use transport 'rpc', or leave tensorpipe_options out",
        id="TensorPipe without RPC",
    ),
    pytest.param(
        ("only-with-rpc", "visible_devices"),
        {"transport": "torch_distributed", "visible_devices": "cuda:0"},
        "transport 'torch_distributed' assigns no GPUs to processes; use transport 'rpc', or leave visible_devices out",
        id="GPUs of processes without RPC",
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
        "rpc_timeout: 0 is too small; use more than 0 and at most 604800",
        id="calls without a deadline",
    ),
    pytest.param(
        ("tensorpipe-options-are-known", "tensorpipe_options"),
        {"transport": "rpc", "tensorpipe_options": {"num_worker_threads": 0}},
        "num_worker_threads: 0 is too small; use 1 to 10000",
        id="nobody who serves calls",
    ),
    pytest.param(
        ("visible-devices-are-known", "visible_devices"),
        {"transport": "rpc", "visible_devices": ["cuda:0", "tpu:1"]},
        "'tpu:1' is not a GPU with a number; use 1, 'cuda:1' or 'cpu'",
        id="a device that is no GPU",
    ),
]
