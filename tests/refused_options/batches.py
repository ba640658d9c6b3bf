"""Of batches and where they go."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from torchrl.data import LazyTensorStorage, ReplayBuffer

from tests.refused_options.parts import SHARED

TRAJECTORIES = (
    "collectors that are cut short deliver no whole trajectories; leave trajs_per_batch out, or use first_shares"
)
INTO_A_BUFFER = (
    "no batch passes through the driver, because collectors write to replay_buffer themselves; give the buffer a "
    "transform, or extend the buffer yourself with each batch"
)
THRESHOLD = {"preemptive_threshold": 0.5}

REFUSED = [
    pytest.param(
        ("threshold-needs-class-single", "preemptive_threshold"),
        {**THRESHOLD, "collector_class": "sync"},
        "only a collector of one process can be cut short; use collector_class 'single', or first_shares",
        id="processes cut short",
    ),
    pytest.param(
        ("threshold-or-whole-trajectories", "preemptive_threshold"),
        {**THRESHOLD, "trajs_per_batch": 2},
        TRAJECTORIES,
        id="trajectories cut short",
    ),
    pytest.param(
        ("threshold-or-whole-trajectories", "preemptive_threshold"),
        {**THRESHOLD, "collector_kwargs": {"trajs_per_batch": 2}},
        TRAJECTORIES,
        id="trajectories of a keyword cut short",
    ),
    pytest.param(
        ("threshold-or-whole-trajectories", "split_trajs"),
        {**THRESHOLD, "split_trajs": True},
        "batches with preemptive_threshold have gaps and cannot be split into trajectories; leave split_trajs or "
        "preemptive_threshold out",
        id="split trajectories cut short",
    ),
    pytest.param(
        ("update-between-steps-needs-class-single", "update_between_steps"),
        {"update_between_steps": True, "collector_class": "sync"},
        "only a collector of one process loads weights between its steps; use collector_class 'single', or leave "
        "update_between_steps out",
        id="between the steps of processes",
    ),
    pytest.param(
        ("update-between-steps-breaks-the-graph", "update_between_steps"),
        {"update_between_steps": True, "collector_kwargs": [None, {"compile_policy": {"fullgraph": True}}]},
        "cannot be used with compile_policy={'fullgraph': True}, because TorchRL's loop loads the weights inside the "
        "compiled call; leave fullgraph out, or use rollout 'fast'",
        id="between steps of one graph",
    ),
    pytest.param(
        ("exact-staleness-or-update-between-steps", "update_between_steps"),
        {"update_between_steps": True, "exact_staleness": True},
        "batches would have frames of several versions, but exact_staleness allows only one version; leave "
        "update_between_steps or exact_staleness out",
        id="exact and between",
    ),
    pytest.param(
        ("compact-observations-of-one-version", "compact_obs"),
        {"collector_kwargs": {"compact_obs": True}, "trajs_per_batch": 2},
        "cannot be used with trajs_per_batch or collector_class 'async', whose batches mix versions; leave compact_obs "
        "out",
        id="compact observations of several versions",
    ),
    pytest.param(
        ("exact-staleness-or-mixed-versions", "exact_staleness"),
        {"exact_staleness": True, "collector_class": "async"},
        "cannot be used with trajs_per_batch or collector_class 'async', whose batches mix versions; leave "
        "exact_staleness out",
        id="exact and mixed",
    ),
    *(
        pytest.param(
            ("distributed-buffer-takes-equal-batches", name),
            {"replay_buffer": SimpleNamespace(service_backend="ray", transport_kind="distributed"), name: given},
            "cannot be used with a replay buffer of transport='distributed', which takes only batches of one size; "
            "build the buffer with transport='ray'",
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
        "Ray actors on other nodes cannot write to a buffer in this process; use ReplayBuffer(..., "
        "service_backend='ray'), or extend the buffer yourself with each batch",
        id="a buffer of this process",
    ),
]
