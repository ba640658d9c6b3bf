"""Of batches and where they go."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from torchrl.data import LazyTensorStorage, ReplayBuffer

from tests.refused_options.parts import SHARED

SINGLE = "only with collector_class 'single' and without trajs_per_batch"
INTO_A_BUFFER = (
    "not together with replay_buffer, which collectors write to themselves; give the buffer a transform, or extend it "
    "with the batches that the iteration yields"
)
THRESHOLD = {"preemptive_threshold": 0.5}

REFUSED = [
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
        ("update-between-steps-breaks-the-graph", "update_between_steps"),
        {"update_between_steps": True, "collector_kwargs": [None, {"compile_policy": {"fullgraph": True}}]},
        "not with compile_policy={'fullgraph': True}: in TorchRL's loop the weights are loaded inside of the call "
        "that is compiled; leave fullgraph out, or use rollout 'fast'",
        id="between steps of one graph",
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
        "Ray actors on other nodes cannot share a buffer of this process; build it with "
        "ReplayBuffer(..., service_backend='ray'), or extend it with the batches that the iteration "
        "yields",
        id="a buffer of this process",
    ),
]
