"""What goes together."""

from __future__ import annotations

import pytest

from tests.combinations import scheduling
from tests.combinations.parts import ARTIFACT, DRA, EVALUATION, GATHER_ONLY, GIT, GROUPS, JOB, LEARNERS, RING, SIMULATOR
from tests.manifests import ABSENT

GO_TOGETHER = [
    *scheduling.GO_TOGETHER,
    pytest.param({"spec.learners": LEARNERS}, id="learners"),
    pytest.param(
        {"spec.learners": {**LEARNERS, "maxPolicies": 10, "gpus": 4}, "spec.driver.train": ABSENT},
        id="learners that learn by themselves",
    ),
    pytest.param(
        {"spec.learners": {**LEARNERS, "maxPolicies": 4, "gpus": 4}, "spec.workers.gpu": DRA},
        id="learners with a claim each",
    ),
    pytest.param(
        # Five policies on three GPUs: two at most on each.
        {
            "spec.learners": {**LEARNERS, "maxPolicies": 10, "gpus": 6, "shards": 2},
            "spec.workers.gpu": DRA | {"perPod": 3},
        },
        id="learners with three GPUs in a claim",
    ),
    pytest.param(
        {
            "spec.learners": {**LEARNERS, "gpus": 8, "shards": 2},
            "spec.workers.gpu": DRA | {"perPod": 4},
        },
        id="learners with four GPUs each",
    ),
    pytest.param(
        {
            "spec.learners": LEARNERS,
            "spec.workers.gpu": DRA | {"perPod": 2},
            "spec.collectors": {"replicas": 4, "resources": {"gpu": 2}, "devices": {"device": "cuda"}},
        },
        id="learners without GPUs beside claims",
    ),
    pytest.param({"spec.evaluation": {}}, id="evaluation with all defaults"),
    pytest.param(
        {
            "spec.evaluation": {
                **EVALUATION,
                "keepBest": True,
                "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"nodeSelector": {"pool": "cpu"}}},
            },
            "spec.driver.checkpoint": {"claimName": "runs"},
        },
        id="evaluation",
    ),
    pytest.param(
        {
            "spec.environment.parameters": {"through": "ResetOptions"},
            "spec.driver.curriculum": {"function": "lab:curriculum", "kwargs": {"most": 20}},
            "spec.evaluation": {},
        },
        id="a curriculum",
    ),
    pytest.param(
        {"spec.driver.curriculum": {"function": "lab:curriculum"}, "spec.evaluation": {}},
        id="a curriculum that implies parameters",
    ),
    pytest.param({"spec.environment.parameters": {"apply": "NextStep"}}, id="parameters in the middle of episodes"),
    pytest.param({"spec.evaluation": {"everySeconds": 60}}, id="evaluation every minute"),
    pytest.param({"spec.evaluation": {"everyFrames": 100_000}, "spec.learners": LEARNERS}, id="evaluation of learners"),
    pytest.param({**GATHER_ONLY, "spec.evaluation": {}}, id="evaluation of first weights"),
    pytest.param({**JOB, "spec.evaluation": EVALUATION}, id="evaluation without Ray"),
    pytest.param({"spec.evaluation": EVALUATION, "spec.collectors.groups": GROUPS}, id="evaluation beside groups"),
    pytest.param(
        {"spec.evaluation": {"replicas": 3, "resources": {"gpu": 0.25}}, "spec.workers.gpu.perPod": 2},
        id="evaluators that share a GPU",
    ),
    pytest.param(
        {"spec.evaluation": {"resources": {"gpu": 2}}, "spec.workers.gpu": DRA | {"perPod": 2}},
        id="an evaluator on devices of a claim",
    ),
    pytest.param({"spec.collectors.groups": GROUPS}, id="groups"),
    pytest.param({"spec.environment.process": SIMULATOR}, id="a simulator"),
    pytest.param({**JOB, "spec.environment.process": SIMULATOR}, id="a simulator without Ray"),
    pytest.param({"spec.environment.process": SIMULATOR, "spec.learners": LEARNERS}, id="a simulator and learners"),
    pytest.param(
        {
            "spec.environment.process": SIMULATOR,
            "spec.evaluation": {"environment": {"process": SIMULATOR | {"readyTimeoutSeconds": 5}}},
            "spec.collectors.groups": [
                {"name": "fast", "replicas": 3},
                {"name": "big", "environment": {"process": {"command": ["./big"], "ports": ["grpc"]}}},
            ],
        },
        id="simulators of groups and evaluators",
    ),
    pytest.param(
        {
            "spec.collectors.groups": [
                {"name": "fast", "replicas": 3, "workers": {"collectorsPerPod": 3}},
                {
                    "name": "big",
                    "environment": {"factory": "my_envs:make_big"},
                    "resources": {"cpu": 4, "memory": "8Gi", "gpu": 0.5},
                    "devices": {"device": "cuda"},
                    "workers": {"gpu": {"mode": "TimeSlicing"}, "template": {"spec": {"nodeSelector": {"a": "b"}}}},
                },
            ]
        },
        id="groups on CPUs and on GPUs",
    ),
    pytest.param(JOB, id="collectors without Ray"),
    pytest.param(
        {"spec.collectors.resources.custom": {"license": 0.5}, "spec.workers.customPerPod": {"license": 2, "disk": 1}},
        id="custom resources",
    ),
    pytest.param(
        {"spec.code": {"archive": {"url": "https://example.com/cheetah.tar.gz", "sha256": "0" * 64}, "path": "src"}},
        id="a tree",
    ),
    pytest.param({"spec.code": {"git": GIT | {"credentialsSecret": {"name": "me"}}, "path": "src"}}, id="a commit"),
    pytest.param({"spec.code": {"artifact": ARTIFACT | {"credentialsSecret": {"name": "me"}}}}, id="an artifact"),
    *(
        pytest.param(
            {"spec.code": {**tree, "certificateAuthority": authority}}, id=f"{source} with a private authority"
        )
        for source, tree, authority in (
            ("a commit", {"git": GIT}, {"configMap": "lab-ca"}),
            ("an artifact", {"artifact": ARTIFACT}, {"secret": "lab-ca", "key": "ca.pem"}),
            ("a tree", {"archive": {"url": "https://example.com/a.zip", "sha256": "0" * 64}}, {"configMap": "lab-ca"}),
        )
    ),
    pytest.param(
        {
            "spec.code": {"git": GIT},
            "spec.driver.template": {
                "spec": {"initContainers": [{"name": "code", "env": [{"name": "HTTPS_PROXY", "value": "proxy:3128"}]}]}
            },
        },
        id="a proxy for the code",
    ),
    pytest.param({"spec.collection.exactStaleness": True, "spec.collection.maxStaleness": 1}, id="one step behind"),
    pytest.param(
        {"spec.collection.stragglers": {"firstShares": 2}, "spec.collection.maxStaleness": 1}, id="late shares"
    ),
    pytest.param({"spec.collection.stragglers": {"preemptiveThreshold": 0.8}}, id="cut short"),
    pytest.param({"spec.collection.shares": 8}, id="more shares than collectors"),
    pytest.param(
        {"spec.weights": {"updateAfterEachBatch": False, "maxWeightUpdateInterval": 4}}, id="every fourth batch"
    ),
    pytest.param(
        {"spec.collectors.class": "Sync", "spec.collectors.numWorkersPerCollector": 4}, id="processes in step"
    ),
    pytest.param(
        {"spec.collectors.class": "Sync", "spec.collection.initRandomFrames": 800}, id="random frames of processes"
    ),
    pytest.param(
        {
            "spec.collectors.devices": {"device": "cuda:3", "storingDevice": "cpu"},
            "spec.collectors.resources.gpu": 4,
            "spec.workers.gpu.perPod": 4,
        },
        id="the last of four GPUs",
    ),
    pytest.param(
        {"spec.collectors.devices.device": "cuda:0", "spec.collectors.resources.gpu": 0.25}, id="part of a GPU"
    ),
    pytest.param({**GATHER_ONLY, "spec.weights": {"dtype": "BFloat16", "include": ["actor."]}}, id="first weights"),
    pytest.param(
        {**GATHER_ONLY, "spec.output": {"path": "/data", "format": "ReplayBuffer", "replayBuffer": RING}},
        id="frames into a replay buffer",
    ),
    pytest.param({"spec.replayBuffer": RING}, id="training from a replay buffer"),
    pytest.param(
        {"spec.replayBuffer": {**RING, "checkpoint": True}, "spec.driver.checkpoint": {"claimName": "runs"}},
        id="a replay buffer that is kept",
    ),
]
