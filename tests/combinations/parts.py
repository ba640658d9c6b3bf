"""What several combinations are made of."""

from __future__ import annotations

from tests.manifests import ABSENT

ASYNC = {"spec.collection.mode": "Async"}
GATHER_ONLY = {"spec.driver": ABSENT, "spec.output": {"path": "/data"}, "spec.collection.totalFrames": 8000}
RING = {"factory": "my_buffers:ring"}
GIT = {"repository": "https://git.example.com/me/cheetah.git", "commit": "0" * 40}
ARTIFACT = {"reference": f"ghcr.io/me/cheetah@sha256:{'0' * 64}"}
SCRIPT = {
    "spec.driver": {"script": "train.py", "args": ["--lr", "3e-4"]},
    "spec.environment": ABSENT,
    "spec.policy": ABSENT,
    "spec.collection": ABSENT,
}
LEARNERS = {
    "factory": "my_learners:Learner",
    "split": "my_learners:split",
    "policies": [{"id": "red"}, {"id": "blue", "module": "module.blue", "kwargs": {"lr": 1e-4}}],
}
# Of every field of its own, but for one interval and a template.
EVALUATION = {
    "replicas": 2,
    "resources": {"cpu": "1500m", "memory": "3Gi"},
    "environment": {"factory": "my_envs:make_hard", "kwargs": {"level": 3}},
    "explorationType": "Mode",
    "everyVersions": 5,
    "episodes": 20,
    "seeds": [0, 1, 2],
    "timeoutSeconds": 300,
    "stopWhen": {"returnMean": 450},
}
SIMULATOR = {"command": ["./sim", "--port", "{grpc}"], "ports": ["grpc", "video"], "readyTimeoutSeconds": 90}
DRA = {"mode": "DRA", "claimTemplate": "gpus"}
# A fleet without Ray.
JOB = {"spec.launcher": "Job", "spec.collection.transport": "TorchDistributed"}
# What a script says itself, each with a value that a manifest could have.
OF_THE_SCRIPT = {
    "environment": {"factory": "my_envs:make_env"},
    "policy": {"factory": "my_policy:make_actor"},
    "collection": {"mode": "Async"},
    "weights": {"dtype": "BFloat16"},
    "replayBuffer": RING,
    "collectors.class": "Sync",
    "collectors.devices": {"device": "cpu"},
    "collectors.noCudaSync": True,
    "collectors.preCollectHook": "my_hooks:before",
    "collectors.postCollectHook": "my_hooks:after",
    "collectors.kwargs": {"compile_policy": True},
}

# What is below it may be anything, which no rule of a CRD can look into.
ONLY_TOLD = ("collectors.kwargs",)

# What a fleet of 4 collectors has.
GROUPS = [{"name": "fast", "replicas": 3}, {"name": "big", "environment": {"kwargs": {"size": 2}}}]
