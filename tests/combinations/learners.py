"""Of `spec.learners`."""

from __future__ import annotations

import pytest

from tests.combinations.parts import DRA, JOB, LEARNERS, RING, SCRIPT
from tests.manifests import ABSENT

REFUSED = [
    pytest.param(
        {"spec.learners": LEARNERS, "spec.policy": ABSENT},
        (
            "spec.learners: learners train modules of the collectors' policy, but the fleet has no policy; name the "
            "policy's factory in spec.policy"
        ),
        id="learners without a policy",
    ),
    pytest.param(
        {**SCRIPT, "spec.learners": LEARNERS},
        "spec.learners: driver.script creates the collector and its LearnerShards itself; leave spec.learners out, or "
        "set driver.train instead of driver.script",
        id="learners and a script",
    ),
    pytest.param(
        {**JOB, "spec.learners": LEARNERS},
        "spec.learners: learners are Ray actors, but launcher Job runs collectors without Ray; set launcher to "
        "RayCluster",
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
        "spec.learners: collectors write to replay actors themselves, so no batch passes through the driver; leave the "
        "fields postproc, splitTrajs, copy and compactObservations of collection out",
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
        'spec.collectors.groups: the name "learners" is reserved for the pods of spec.learners; rename the group',
        id="a group that is called learners",
    ),
    pytest.param(
        {"spec.learners": {**LEARNERS, "maxPolicies": 1}},
        "spec.learners.policies: 2 policies, but learners.maxPolicies is 1; raise maxPolicies to 2, or remove policies",
        id="more policies than places",
    ),
    pytest.param(
        {"spec.learners": {**LEARNERS, "shards": 3}},
        "spec.learners.shards: 3 shards are too many for 2 policies; use at most 2, or raise learners.maxPolicies",
        id="more shards than places",
    ),
    pytest.param(
        {"spec.learners": {**LEARNERS, "maxPolicies": 4, "gpus": 4, "shards": 1}, "spec.workers.gpu": DRA},
        "spec.learners.gpus: a learner pod needs 4 GPU, but its claim has 1 (workers.gpu.perPod, mode DRA); set perPod "
        "to 4 with a matching claimTemplate, or change learners.gpus",
        id="learners with more GPUs than their claim",
    ),
    pytest.param(
        {"spec.learners": {**LEARNERS, "maxPolicies": 4, "gpus": 4}, "spec.workers.gpu": DRA | {"perPod": 4}},
        "spec.learners.gpus: a learner pod needs 1 GPU, but its claim has 4 (workers.gpu.perPod, mode DRA); set perPod "
        "to 1 with a matching claimTemplate, or change learners.gpus",
        id="learners with fewer GPUs than their claim",
    ),
]
