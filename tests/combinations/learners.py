"""Of `spec.learners`."""

from __future__ import annotations

import pytest

from tests.combinations.parts import DRA, JOB, LEARNERS, RING, SCRIPT
from tests.manifests import ABSENT

REFUSED = [
    pytest.param(
        {"spec.learners": LEARNERS, "spec.policy": ABSENT},
        (
            "spec.learners: the modules of the learners are part of the policy of the collectors; name the factory "
            "of the policy in spec.policy"
        ),
        id="learners without a policy",
    ),
    pytest.param(
        {**SCRIPT, "spec.learners": LEARNERS},
        "spec.learners: driver.script creates the collector and its LearnerShards itself; set driver.train, or leave "
        "learners out",
        id="learners and a script",
    ),
    pytest.param(
        {**JOB, "spec.learners": LEARNERS},
        "spec.learners: collectors write to Ray actors of the learners, but with launcher Job collectors are not in "
        "Ray; use launcher RayCluster",
        id="learners without Ray",
    ),
    pytest.param(
        {"spec.learners": LEARNERS, "spec.replayBuffer": RING},
        "spec.learners: collectors write to the replay actors of learners; leave replayBuffer out, and use "
        "learners.replay",
        id="learners and a replay buffer",
    ),
    pytest.param(
        {"spec.learners": LEARNERS, "spec.collection.compactObservations": True},
        "spec.learners: collectors write to replay actors themselves, so no batch passes through the "
        "driver; leave collection.postproc, splitTrajs, copy and compactObservations out",
        id="learners and batches",
    ),
    pytest.param(
        {
            "spec.learners": LEARNERS,
            "spec.weights": {"updateAfterEachBatch": False, "maxWeightUpdateInterval": 2},
        },
        "spec.weights.maxWeightUpdateInterval: learners decide when changed weights are published; leave "
        "maxWeightUpdateInterval out",
        id="learners and an interval",
    ),
    pytest.param(
        {"spec.learners": LEARNERS, "spec.collectors.groups": [{"name": "learners", "replicas": 4}]},
        "spec.collectors.groups: the name learners is reserved for the pods of spec.learners; rename the group",
        id="a group that is called learners",
    ),
    pytest.param(
        {"spec.learners": {**LEARNERS, "maxPolicies": 1}},
        "spec.learners.policies: 2 policies, but learners.maxPolicies is 1; raise maxPolicies to 2, or remove policies",
        id="more policies than places",
    ),
    pytest.param(
        {"spec.learners": {**LEARNERS, "shards": 3}},
        "spec.learners.shards: 3 shards for 2 policies; use 1 to 2, or raise learners.maxPolicies",
        id="more shards than places",
    ),
    pytest.param(
        {"spec.learners": {**LEARNERS, "maxPolicies": 4, "gpus": 4, "shards": 1}, "spec.workers.gpu": DRA},
        "spec.learners.gpus: a learner pod needs 4 GPU, but its claim has 1 (workers.gpu.perPod, mode DRA); set "
        "perPod to 4, with a claimTemplate of as many devices, or change learners.gpus or learners.shards",
        id="learners with more GPUs than their claim",
    ),
    pytest.param(
        {"spec.learners": {**LEARNERS, "maxPolicies": 4, "gpus": 4}, "spec.workers.gpu": DRA | {"perPod": 4}},
        "spec.learners.gpus: a learner pod needs 1 GPU, but its claim has 4 (workers.gpu.perPod, mode DRA); set "
        "perPod to 1, with a claimTemplate of as many devices, or change learners.gpus or learners.shards",
        id="learners with fewer GPUs than their claim",
    ),
]
