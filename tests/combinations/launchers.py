"""Of `spec.launcher` and `spec.collection.transport`."""

from __future__ import annotations

import pytest

from tests.combinations.parts import JOB, RING

REFUSED = [
    pytest.param(
        {"spec.launcher": "Job"},
        "spec.collection.transport: launcher RayCluster needs transport ObjectStore, and launcher Job needs transport "
        "TorchDistributed; change launcher or collection.transport",
        id="a Job whose collectors were in Ray",
    ),
    pytest.param(
        {**JOB, "spec.replayBuffer": RING},
        "spec.replayBuffer: the replay buffer is a Ray actor, but launcher Job runs collectors without Ray; set "
        "launcher to RayCluster, or fill a buffer in driver.train",
        id="a replay buffer in Ray without Ray",
    ),
    pytest.param(
        {**JOB, "spec.collectors.resources.custom": {"license": 1}, "spec.workers.customPerPod": {"license": 1}},
        "spec.collectors.resources.custom: Ray counts custom resources, but launcher Job runs collectors without Ray; "
        "set launcher to RayCluster, or leave resources.custom and workers.customPerPod out",
        id="custom resources without Ray",
    ),
    pytest.param(
        {**JOB, "spec.workers.customPerPod": {"license": 1}},
        "spec.workers.customPerPod: Ray counts custom resources, but launcher Job runs collectors without Ray; set "
        "launcher to RayCluster, or leave customPerPod out",
        id="pods with custom resources without Ray",
    ),
    pytest.param(
        {**JOB, "spec.ray.head.template": {"spec": {"nodeSelector": {"pool": "cpu"}}}},
        "spec.ray.head.template: launcher Job has no head pod; use launcher RayCluster, or leave this template out",
        id="a head without Ray",
    ),
    pytest.param(
        {**JOB, "spec.collectors.scalingPolicy": {"factory": "mine:LowestFirst"}},
        "spec.collectors.scalingPolicy: with launcher Job, Kubernetes removes the pods with the highest indexes first; "
        "use launcher RayCluster, or leave scalingPolicy out",
        id="others than the highest leave a Job",
    ),
]
