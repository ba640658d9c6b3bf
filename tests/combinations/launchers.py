"""Of `spec.launcher` and `spec.collection.transport`."""

from __future__ import annotations

import pytest

from tests.combinations.parts import JOB, RING

REFUSED = [
    pytest.param(
        {"spec.launcher": "Job"},
        "spec.collection.transport: launcher RayCluster has its collectors in Ray and goes with ObjectStore, launcher "
        "Job has processes and goes with TorchDistributed; change one of the two",
        id="a Job whose collectors were in Ray",
    ),
    pytest.param(
        {**JOB, "spec.replayBuffer": RING},
        "spec.replayBuffer: collectors write to a buffer that is a Ray actor, and with launcher Job they are not in "
        "Ray; use launcher RayCluster, or extend a buffer in driver.train with the batches that it gets",
        id="a replay buffer in Ray without Ray",
    ),
    pytest.param(
        {**JOB, "spec.collectors.resources.custom": {"license": 1}, "spec.workers.customPerPod": {"license": 1}},
        "spec.collectors.resources.custom: these are resources that Ray counts, and with launcher Job collectors are "
        "not in Ray; use launcher RayCluster, or leave it out",
        id="custom resources without Ray",
    ),
]
