"""Changes of a manifest that set several options, those that are refused with the sentence that says why."""

from __future__ import annotations

import pytest

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

REFUSED = [
    pytest.param(
        {"spec.learners": LEARNERS, "spec.policy": ABSENT},
        "spec.learners: what learns is part of the policy that collectors act with; name its factory in spec.policy",
        id="learners without a policy",
    ),
    pytest.param(
        {**SCRIPT, "spec.learners": LEARNERS},
        "spec.learners: driver.script makes the collector, and its LearnerShards; set driver.train, or leave learners "
        "out",
        id="learners and a script",
    ),
    pytest.param(
        {**JOB, "spec.learners": LEARNERS},
        "spec.learners: learners are Ray actors, which collectors write to, and with launcher Job those are not in "
        "Ray; use launcher RayCluster",
        id="learners without Ray",
    ),
    pytest.param(
        {"spec.learners": LEARNERS, "spec.replayBuffer": RING},
        "spec.learners: collectors write to the replay actors of learners; leave replayBuffer out, learners.replay is "
        "in its place",
        id="learners and a replay buffer",
    ),
    pytest.param(
        {"spec.learners": LEARNERS, "spec.collection.compactObservations": True},
        "spec.learners: collectors write to replay actors themselves, and no batch is handed out; leave "
        "collection.postproc, splitTrajs, copy and compactObservations out",
        id="learners and batches",
    ),
    pytest.param(
        {
            "spec.learners": LEARNERS,
            "spec.weights": {"updateAfterEachBatch": False, "maxWeightUpdateInterval": 2},
        },
        "spec.weights.maxWeightUpdateInterval: what learners learned is published where it changed; leave it out",
        id="learners and an interval",
    ),
    pytest.param(
        {"spec.learners": LEARNERS, "spec.collectors.groups": [{"name": "learners", "replicas": 4}]},
        "spec.collectors.groups: learners is the name of the pods of spec.learners; use another",
        id="a group that is called learners",
    ),
    pytest.param(
        {"spec.learners": {**LEARNERS, "maxPolicies": 1}},
        "spec.learners.policies: 2 policies, and learners.maxPolicies is 1; raise it to 2, or leave policies out",
        id="more policies than places",
    ),
    pytest.param(
        {"spec.learners": {**LEARNERS, "shards": 3}},
        "spec.learners.shards: 3 shards for 2 policies; use 1 to 2, or raise learners.maxPolicies",
        id="more shards than places",
    ),
    pytest.param(
        {**SCRIPT, "spec.collectors.groups": [GROUPS[0], {"name": "big", "devices": {"device": "cpu"}}]},
        "spec.collectors.groups: driver.script makes the collector and says its environments and devices there; leave "
        "those of groups out",
        id="groups that differ in what a script says",
    ),
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
        {**JOB, "spec.collectors.groups": GROUPS},
        "spec.collectors.groups: groups are kinds of worker pods of a RayCluster, and with launcher Job all collectors "
        "are alike; use launcher RayCluster, or leave groups out",
        id="groups of collectors without Ray",
    ),
    pytest.param(
        {**JOB, "spec.collectors.resources.custom": {"license": 1}, "spec.workers.customPerPod": {"license": 1}},
        "spec.collectors.resources.custom: these are resources that Ray counts, and with launcher Job collectors are "
        "not in Ray; use launcher RayCluster, or leave it out",
        id="custom resources without Ray",
    ),
    pytest.param(
        {"spec.output": {"path": "/data"}},
        "spec.output: set driver.train, driver.script, learners or output, one of them: who trains gets the frames",
        id="train and output",
    ),
    pytest.param(
        {"spec.driver": ABSENT},
        "spec: set driver.train, driver.script or learners to train on the frames, or output to write them to files; "
        "with none of them they would be lost",
        id="neither train nor output",
    ),
    pytest.param(
        {**ASYNC, "spec.collection.maxStaleness": 0},
        "spec.collection.maxStaleness: 0 is for mode Sync: in Async the weights move on while other collectors' "
        "batches wait; use 1 or more, or leave it out for no bound",
        id="on-policy Async",
    ),
    pytest.param(
        {"spec.driver.resources.gpu": 0.5},
        "spec.driver.resources.gpu: 0.5: the driver gets whole GPUs; use 0 or 1",
        id="half a GPU for the driver",
    ),
    pytest.param(
        {**ASYNC, "spec.collection.shares": 4},
        "spec.collection.shares: shares are parts of a Sync batch; leave it out in mode Async, where a batch comes "
        "from one collector",
        id="shares in Async",
    ),
    pytest.param(
        {**ASYNC, "spec.collection.exactStaleness": True},
        "spec.collection.exactStaleness: only Sync batches have one version; leave it out in mode Async, and bound the "
        "staleness with maxStaleness",
        id="exact staleness in Async",
    ),
    pytest.param(
        {**ASYNC, "spec.collection.stragglers": {"preemptiveThreshold": 0.8}},
        "spec.collection.stragglers: only a Sync batch waits for several collectors; leave it out in mode Async",
        id="stragglers in Async",
    ),
    pytest.param(
        {
            "spec.collection.maxStaleness": 1,
            "spec.collection.stragglers": {"firstShares": 3, "preemptiveThreshold": 0.8},
            "spec.collection.framesPerBatch": 6000,
        },
        "spec.collection.stragglers: set firstShares or preemptiveThreshold, one of them: late shares join the next "
        "batch, or they are cut short",
        id="two ways with stragglers",
    ),
    pytest.param(
        {"spec.collection.stragglers": {}},
        "spec.collection.stragglers: set firstShares or preemptiveThreshold, one of them: late shares join the next "
        "batch, or they are cut short",
        id="no way with stragglers",
    ),
    pytest.param(
        {"spec.collection.stragglers": {"firstShares": 2}},
        "spec.collection.stragglers.firstShares: late shares join the next batch, which has newer weights; set "
        "collection.maxStaleness to 1 or more, or use preemptiveThreshold",
        id="late shares on-policy",
    ),
    pytest.param(
        {
            "spec.collection.maxStaleness": 1,
            "spec.collection.framesPerBatch": 6000,
            "spec.collection.shares": 3,
            "spec.collection.stragglers": {"firstShares": 3},
        },
        "spec.collection.stragglers.firstShares: a batch has that many shares, whichever come first; leave "
        "collection.shares out",
        id="two numbers of shares",
    ),
    pytest.param(
        {"spec.collection.maxStaleness": 1, "spec.collection.stragglers": {"firstShares": 4}},
        "spec.collection.stragglers.firstShares: 4 is not fewer than collectors.replicas 4, so that each batch waits "
        "for all; use fewer, or leave stragglers out",
        id="all shares first",
    ),
    pytest.param(
        {"spec.collection.stragglers": {"preemptiveThreshold": 0.8}, "spec.collectors.class": "Sync"},
        "spec.collection.stragglers.preemptiveThreshold: only a collector of one process can be cut short; set "
        "collectors.class to Single, or use firstShares",
        id="cut short in several processes",
    ),
    pytest.param(
        {"spec.collection.stragglers": {"preemptiveThreshold": 0.8}, "spec.collection.splitTrajs": True},
        "spec.collection.stragglers.preemptiveThreshold: a share that is cut short has no whole trajectories; leave "
        "splitTrajs and trajsPerBatch out, or use firstShares",
        id="trajectories that are cut short",
    ),
    pytest.param(
        {"spec.collection.exactStaleness": True, "spec.collectors.class": "Async"},
        "spec.collection.exactStaleness: with trajsPerBatch or collectors.class Async a batch has frames of older "
        "weights; leave one of the two out",
        id="exact staleness of trajectories that span batches",
    ),
    pytest.param(
        {"spec.weights.updateBetweenSteps": True, "spec.collectors.class": "Sync"},
        "spec.weights.updateBetweenSteps: only a collector of one process loads weights between its steps; set "
        "collectors.class to Single, or leave it out",
        id="new weights between the steps of several processes",
    ),
    pytest.param(
        {"spec.collection.rollout": "Fast", "spec.collectors.class": "Sync"},
        "spec.collection.rollout: collectors of several processes step by themselves; set collectors.class to Single, "
        "or rollout to Auto",
        id="a fast rollout in several processes",
    ),
    pytest.param(
        {
            "spec.collectors.onEnvironmentError": "Restart",
            "spec.collectors.failurePolicy": {"factory": "my_policies:patient"},
        },
        "spec.collectors.onEnvironmentError: a failurePolicy is asked itself, with the fault EnvironmentError; leave "
        "one of the two out",
        id="two judges of an environment's errors",
    ),
    pytest.param(
        {"spec.collection.initRandomFrames": 800, "spec.collectors.class": "Async"},
        "spec.collection.initRandomFrames: processes of class Async collect ahead and do not hear when to stop drawing "
        "at random; set collectors.class to Single or Sync, or leave it out",
        id="random frames of processes that never pause",
    ),
    pytest.param(
        {"spec.collection.splitTrajs": True, "spec.collection.trajsPerBatch": 10},
        "spec.collection.splitTrajs: batches of trajsPerBatch have one trajectory in each row already; leave one of "
        "the two out",
        id="trajectories that are split twice",
    ),
    pytest.param(
        {"spec.replayBuffer": RING, "spec.collection.copy": False},
        "spec.replayBuffer: collectors write into it themselves, and no batch is handed out; leave "
        "collection.postproc, splitTrajs, copy and compactObservations out",
        id="a replay buffer and batches as they should be",
    ),
    pytest.param(
        {"spec.replayBuffer": RING, "spec.collection.compactObservations": True},
        "spec.replayBuffer: collectors write into it themselves, and no batch is handed out; leave "
        "collection.postproc, splitTrajs, copy and compactObservations out",
        id="a replay buffer and observations that travel once",
    ),
    pytest.param(
        {"spec.collection.stragglers": {"preemptiveThreshold": 0}},
        "spec.collection.stragglers.preemptiveThreshold: 0 waits for no share and 1 for all; use a number between "
        "them, such as 0.8, or leave stragglers out",
        id="a threshold of none",
    ),
    pytest.param(
        {"spec.collection.stragglers": {"preemptiveThreshold": 1.0}},
        "spec.collection.stragglers.preemptiveThreshold: 0 waits for no share and 1 for all; use a number between "
        "them, such as 0.8, or leave stragglers out",
        id="a threshold of all",
    ),
    pytest.param(
        {
            "spec.collection.maxStaleness": 1,
            "spec.collection.exactStaleness": True,
            "spec.collection.stragglers": {"firstShares": 2},
        },
        "spec.collection.exactStaleness: with stragglers.firstShares a batch has late shares of older weights; leave "
        "one of the two out, or use preemptiveThreshold",
        id="exact staleness with late shares",
    ),
    pytest.param(
        {"spec.collection.exactStaleness": True, "spec.weights.updateBetweenSteps": True},
        "spec.collection.exactStaleness: with weights.updateBetweenSteps a batch has frames of newer weights; leave "
        "one of the two out",
        id="exact staleness with new weights between steps",
    ),
    pytest.param(
        {**GATHER_ONLY, "spec.collection.exactStaleness": True},
        "spec.collection.exactStaleness: without driver.train there is one version of the weights, and all batches "
        "have it; leave it out",
        id="exact staleness without training",
    ),
    pytest.param(
        {**GATHER_ONLY, "spec.weights.updateBetweenSteps": True},
        "spec.weights.updateBetweenSteps: without driver.train there are no new weights to load; leave it out",
        id="new weights without training",
    ),
    pytest.param(
        {**GATHER_ONLY, "spec.weights": {"updateAfterEachBatch": False, "maxWeightUpdateInterval": 3}},
        "spec.weights.maxWeightUpdateInterval: without driver.train there are no new weights to publish; leave it out",
        id="an interval without training",
    ),
    pytest.param(
        {"spec.weights.maxWeightUpdateInterval": 3},
        "spec.weights.maxWeightUpdateInterval: weights are published after each batch anyway; set "
        "updateAfterEachBatch to false, or leave the interval out",
        id="an interval and each batch",
    ),
    pytest.param(
        {"spec.collectors.numWorkersPerCollector": 4},
        "spec.collectors.numWorkersPerCollector: 4, and class Single has one process; set collectors.class to Sync or "
        "Async, or step several environments in it with environment.perCollector",
        id="workers of a single process",
    ),
    pytest.param(
        {"spec.collectors.devices.envDevice": "cuda"},
        "spec.collectors.devices: cuda needs a GPU; set collectors.resources.gpu, to a share such as 0.25 or to whole "
        "GPUs, or use cpu",
        id="cuda without a GPU",
    ),
    pytest.param(
        {"spec.workers.gpu.mode": "MIG"},
        "spec.workers.gpu.resource: absent, and with mode MIG a GPU is a slice of a size; set it to what nodes offer, "
        "such as nvidia.com/mig-1g.10gb",
        id="MIG of no size",
    ),
    pytest.param(
        {"spec.workers.gpu": {"mode": "None", "resource": "nvidia.com/gpu"}},
        "spec.workers.gpu.resource: worker pods ask for no resource with mode DRA or None; leave it out, or use "
        "another mode",
        id="a resource that nobody asks for",
    ),
    *(
        pytest.param(
            {"spec.workers.gpu.resource": resource},
            "spec.workers.gpu.resource: that is one of Kubernetes' own, which no device plugin offers; set what nodes "
            "list under allocatable, such as nvidia.com/gpu",
            id=f"{resource}, which is no device",
        )
        for resource in ("kubernetes.io/gpu", "batch.kubernetes.io/gpu", "requests.nvidia.com/gpu")
    ),
    pytest.param(
        {"spec.workers.gpu.mode": "DRA"},
        "spec.workers.gpu.claimTemplate: mode DRA and claimTemplate go together; set both, or neither",
        id="DRA without a claim",
    ),
    pytest.param(
        {"spec.workers.gpu.claimTemplate": "one-gpu"},
        "spec.workers.gpu.claimTemplate: mode DRA and claimTemplate go together; set both, or neither",
        id="a claim without DRA",
    ),
    pytest.param(
        {
            "spec.collectors.devices": {"device": "cuda", "policyDevice": "cuda:2"},
            "spec.collectors.resources.gpu": 2,
            "spec.workers.gpu.perPod": 2,
        },
        "spec.collectors.devices: a collector sees its own GPUs (collectors.resources.gpu is 2), counted from 0; use "
        "a lower index, or raise it",
        id="a GPU that a collector has not",
    ),
    pytest.param(
        {**GATHER_ONLY, "spec.replayBuffer": RING},
        "spec.replayBuffer: nobody samples from it without driver.train; set that, or write the frames out with "
        "output.replayBuffer",
        id="a replay buffer that nobody samples from",
    ),
    pytest.param(
        {"spec.replayBuffer": {**RING, "checkpoint": True}},
        "spec.replayBuffer.checkpoint: the buffer is kept in the checkpoints of driver.checkpoint; set that, or leave "
        "it out",
        id="a replay buffer to keep, and no checkpoints",
    ),
    pytest.param(
        {**GATHER_ONLY, "spec.output": {"path": "/data", "replayBuffer": RING}},
        "spec.output.replayBuffer: belongs to format ReplayBuffer, which needs it; set both or neither",
        id="a replay buffer of files",
    ),
    pytest.param(
        {**GATHER_ONLY, "spec.output": {"path": "/data", "format": "ReplayBuffer"}},
        "spec.output.replayBuffer: belongs to format ReplayBuffer, which needs it; set both or neither",
        id="a format without its replay buffer",
    ),
    pytest.param(
        {"spec.driver.script": "train.py"}
        | {f"spec.{path}": ABSENT for path in ("environment", "policy", "collection")},
        "spec.driver.script: set driver.train or driver.script, one of them: both take the batches",
        id="a function and a script",
    ),
    pytest.param(
        {"spec.code": {"configMap": "cheetah", "archive": {"configMap": "cheetah-tree", "sha256": "0" * 64}}},
        "spec.code: set configMap, archive, git or artifact, one of them; with the code in the image, leave code out",
        id="code from two places",
    ),
    pytest.param(
        {"spec.code": {"archive": {"sha256": "0" * 64}}},
        "spec.code.archive: set configMap or url, one of them",
        id="an archive from nowhere",
    ),
    pytest.param(
        {"spec.code": {"git": GIT, "artifact": ARTIFACT}},
        "spec.code: set configMap, archive, git or artifact, one of them; with the code in the image, leave code out",
        id="code from a repository and a registry",
    ),
    pytest.param(
        {"spec.code": {"git": GIT | {"repository": "http://example.com/a.git", "credentialsSecret": {"name": "me"}}}},
        "spec.code.git: with credentialsSecret the repository is one of https, or everybody on the way would read the "
        "password",
        id="a password in the clear",
    ),
    pytest.param(
        {"spec.code": {"git": GIT | {"commit": "main"}}},
        "spec.code.git.commit: branches and tags move; write the commit in full, 40 hexadecimal digits (64 in a "
        "repository of SHA-256), as `git rev-parse HEAD` says it",
        id="a branch",
    ),
    pytest.param(
        {"spec.code": {"git": GIT | {"commit": "v1.2"}}},
        "spec.code.git.commit: branches and tags move; write the commit in full, 40 hexadecimal digits (64 in a "
        "repository of SHA-256), as `git rev-parse HEAD` says it",
        id="a tag of git",
    ),
    pytest.param(
        {"spec.code": {"git": GIT | {"commit": "0123abc"}}},
        "spec.code.git.commit: branches and tags move; write the commit in full, 40 hexadecimal digits (64 in a "
        "repository of SHA-256), as `git rev-parse HEAD` says it",
        id="a commit in short",
    ),
    pytest.param(
        {"spec.code": {"artifact": {"reference": "ghcr.io/me/cheetah:latest"}}},
        "spec.code.artifact.reference: tags move; write registry, repository and digest, such as "
        "ghcr.io/me/lab@sha256:..., with the digest that `crane digest ghcr.io/me/lab:TAG` says, or what pushed it",
        id="a tag of a registry",
    ),
    pytest.param(
        {"spec.code": {"artifact": {"reference": "cheetah"}}},
        "spec.code.artifact.reference: tags move; write registry, repository and digest, such as "
        "ghcr.io/me/lab@sha256:..., with the digest that `crane digest ghcr.io/me/lab:TAG` says, or what pushed it",
        id="no registry",
    ),
    pytest.param(
        {"spec.code": {"configMap": "cheetah", "path": "src"}},
        "spec.code.path: the keys of a ConfigMap are files without folders; leave it out, or set archive, "
        "git or artifact",
        id="a folder of a ConfigMap",
    ),
    pytest.param(
        {"spec.driver.log": {"everySeconds": 5}},
        "spec.driver.log: nothing to log to; set tensorboard, logger, or both",
        id="a log to nowhere",
    ),
    pytest.param(
        {"spec.driver.args": ["--lr", "3e-4"]},
        "spec.driver.args: there is no driver.script to give them to; a function has driver.train.kwargs",
        id="arguments of no script",
    ),
    *(
        pytest.param(
            {f"spec.{path}": ABSENT},
            f"spec.{path}: missing, and required: {what}; only driver.script says it elsewhere",
            id=f"no {path}",
        )
        for path, what in (
            ("environment", "the environment that the collectors step"),
            ("collection.framesPerBatch", "the frames of a batch"),
        )
    ),
    *(
        pytest.param(
            {**SCRIPT, f"spec.{path}": value},
            f"spec.{path}: driver.script makes the collector and says it there; leave it out",
            id=f"{path} beside a script",
        )
        for path, value in OF_THE_SCRIPT.items()
        if path not in ONLY_TOLD
    ),
]


GO_TOGETHER = [
    pytest.param({"spec.learners": LEARNERS}, id="learners"),
    pytest.param(
        {"spec.learners": {**LEARNERS, "maxPolicies": 10, "gpus": 4}, "spec.driver.train": ABSENT},
        id="learners that learn by themselves",
    ),
    pytest.param({"spec.collectors.groups": GROUPS}, id="groups"),
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
