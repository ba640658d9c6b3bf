"""What works but is hardly meant."""

from __future__ import annotations

from typing import Any

import pytest
from tests.combinations.parts import LEARNERS
from tests.manifests import ABSENT, fleet

from collectorfleet_api.rules.advice import warnings

ON_A_GPU = {"name": "fast", "replicas": 2, "resources": {"gpu": 0.5}, "devices": {"device": "cuda"}}
QUARTERS = {"spec.collectors.resources.gpu": 0.25, "spec.collectors.devices.device": "cuda"}
ON_CPUS = {"name": "big", "replicas": 2, "resources": {"gpu": 0}}
BEHIND_A_PROXY = {
    "spec": {
        "initContainers": [{"name": "code", "env": [{"name": "HTTPS_PROXY", "value": "http://proxy.lab:3128"}]}],
    }
}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        pytest.param(
            {"spec.policy": ABSENT},
            "spec.policy: not set, so collectors act at random; name a factory to let collectors act by a policy",
            id="no policy",
        ),
        pytest.param(
            {
                "spec.collection": {"mode": "Async", "framesPerBatch": 100, "maxStaleness": 2},
                "spec.collectors.replicas": 16,
            },
            "spec.collection.maxStaleness: at most 3 of 16 collectors are busy, because maxStaleness 2 allows only 3 "
            "undelivered batches; raise maxStaleness to 15, or use 3 collectors",
            id="a bound that idles collectors",
        ),
        pytest.param(
            {
                "spec.collection": {"mode": "Async", "framesPerBatch": 100, "maxStaleness": 2},
                "spec.collectors.replicas": 16,
                "spec.weights.updateAfterEachBatch": False,
            },
            "spec.collection.maxStaleness: at most 3 of 16 collectors are busy, because maxStaleness 2 allows only 3 "
            "undelivered batches; raise maxStaleness to 15, or use 3 collectors",
            id="the same where the training function publishes",
        ),
        pytest.param(
            {
                "spec.collectors.resources.gpu": 0.5,
                "spec.collectors.devices": {"device": "cuda"},
                "spec.workers.gpu": {"mode": "MIG", "resource": "nvidia.com/mig-1g.10gb", "perPod": 2},
            },
            "spec.workers.gpu.perPod: with mode MIG, a pod gains nothing from 2 parts of a GPU: CUDA shows a process "
            "only one slice; use 1, and more pods",
            id="slices that a process cannot see",
        ),
        pytest.param(
            {"spec.workers.gpu": {"mode": "TimeSlicing"}},
            "spec.workers.gpu: collectors request no GPU, so worker pods get no GPU; set "
            "spec.collectors.resources.gpu, or leave this field out",
            id="a mode of no GPU",
        ),
        pytest.param(
            {"spec.workers.gpu": {"mode": "TimeSlicing"}, "spec.learners": LEARNERS},
            "spec.workers.gpu: collectors request no GPU, so worker pods get no GPU; set "
            "spec.collectors.resources.gpu, or leave this field out",
            id="a mode of no GPU, of learners on CPUs",
        ),
        pytest.param(
            {
                "spec.workers.gpu": {"mode": "TimeSlicing"},
                "spec.learners": {**LEARNERS, "gpus": 1},
                "spec.collectors.groups": [{"name": "all", "replicas": 4, "workers": {"gpu": {"mode": "MPS"}}}],
            },
            "spec.collectors.groups[0].workers.gpu: collectors request no GPU, so worker pods get no GPU; set "
            "spec.collectors.resources.gpu, or leave this field out",
            id="a mode of no GPU, of a group beside learners on GPUs",
        ),
        pytest.param(
            {
                "spec.collectors.resources.gpu": 0.5,
                "spec.collectors.devices": {"device": "cuda"},
                "spec.workers.gpu": {"mode": "None"},
            },
            "spec.workers.template: not set, and with workers.gpu.mode None, the operator requests no GPUs; set a "
            "template that gives worker pods their GPUs",
            id="GPUs that nothing gives",
        ),
        pytest.param(
            {"spec.driver": ABSENT, "spec.output": {"path": "/data"}},
            "spec.collection.totalFrames: not set, so batches are written until the fleet is deleted or the volume is "
            "full; set totalFrames to stop earlier",
            id="endless output",
        ),
        pytest.param(
            {"spec.collectors.resources.gpu": 0.6, "spec.collectors.devices.device": "cuda"},
            "spec.collectors.resources.gpu: collectors leave 0.4 of the 1 GPU of each worker pod unused: 1 collector "
            "of 0.6 GPU fits",
            id="a GPU that is left over",
        ),
        pytest.param(
            {**QUARTERS, "spec.workers.collectorsPerPod": 2},
            "spec.collectors.resources.gpu: collectors leave 0.5 of the 1 GPU of each worker pod unused: 4 collectors "
            "of 0.25 GPU fit, but workers.collectorsPerPod is 2",
            id="a GPU for fewer collectors than fit",
        ),
        pytest.param(
            {
                **QUARTERS,
                "spec.collectors.resources.custom": {"disk": 1, "license": 0.6},
                "spec.workers.customPerPod": {"disk": 4, "license": 2},
            },
            "spec.collectors.resources.gpu: collectors leave 0.25 of the 1 GPU of each worker pod unused: 4 collectors "
            'of 0.25 GPU fit, but "license" of workers.customPerPod is enough for only 3',
            id="a GPU for more collectors than licences",
        ),
        pytest.param(
            {"spec.replayBuffer": {"factory": "a:b"}, "spec.driver.checkpoint": {"claimName": "runs"}},
            "spec.replayBuffer.checkpoint: with false, a restarted driver resumes with an empty replay buffer; true "
            "also saves the content, which needs room for three copies on the claim",
            id="a replay buffer that a checkpoint leaves out",
        ),
        pytest.param(
            {"spec.environment.kwargs": {"seed": None}},
            "spec.environment.kwargs.seed: `kubectl apply` removes this null; leave the argument out, and make None "
            "its default in the function",
            id="a keyword that is null",
        ),
        pytest.param(
            {"spec.collection.shares": 2},
            "spec.collectors.replicas: at most 2 of 4 collectors are busy: a batch has 2 shares",
            id="fewer shares than collectors",
        ),
        pytest.param(
            {
                "spec.collection.stragglers": {"firstShares": 2},
                "spec.collection.maxStaleness": 1,
                "spec.collectors.replicas": 8,
            },
            "spec.collectors.replicas: at most 4 of 8 collectors are busy: a batch has 2 shares, and 2 batches may be "
            "under way (collection.maxStaleness 1)",
            id="far fewer first shares than collectors",
        ),
        pytest.param(
            {"spec.collection.trajsPerBatch": 4},
            "spec.collection.trajsPerBatch: frames of a trajectory that spans updates can be staler than maxStaleness "
            "0, which limits only how far ahead batches are requested; status.weights.staleness shows their staleness",
            id="trajectories that span updates",
        ),
        pytest.param(
            {"spec.collectors.resources.gpu": 0.25},
            "spec.collectors.devices: no device is set, so only code that selects CUDA itself uses the 0.25 GPU of "
            "each collector; set device to cuda",
            id="a GPU without a device",
        ),
        pytest.param(
            {"spec.weights.models": [{"path": "env.model", "factory": "a:b", "kwargs": {"width": None}}]},
            "spec.weights.models[0].kwargs.width: `kubectl apply` removes this null; leave the argument out, and make "
            "None its default in the function",
            id="a keyword that is null, in a list",
        ),
    ],
)
def test_what_is_hardly_meant_is_warned_of(changes: dict[str, Any], sentence: str) -> None:
    assert [str(found) for found in warnings(fleet(changes))] == [sentence]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="plain"),
        pytest.param({"spec.collection": {"mode": "Async", "framesPerBatch": 100}}, id="unbounded Async"),
        pytest.param(
            {
                "spec.collection": {"mode": "Async", "framesPerBatch": 100, "maxStaleness": 1},
                "spec.collectors.replicas": 2,
            },
            id="a bound that lets all work",
        ),
        pytest.param(
            {"spec.workers.gpu": {"mode": "TimeSlicing"}, "spec.learners": {**LEARNERS, "gpus": 1}},
            id="a mode of GPUs of learners alone",
        ),
        pytest.param(
            {"spec.workers.gpu": {"mode": "TimeSlicing"}, "spec.collectors.groups": [ON_A_GPU, ON_CPUS]},
            id="a mode of GPUs of one group alone",
        ),
        pytest.param(
            {
                "spec.workers.gpu": {"mode": "TimeSlicing"},
                "spec.collectors": {
                    "replicas": 4,
                    "resources": {"gpu": 0.5},
                    "devices": {"device": "cuda"},
                    "groups": [ON_A_GPU, ON_CPUS | {"devices": {"device": "cpu"}}],
                },
            },
            id="a group that leaves the fleet's GPUs alone",
        ),
        pytest.param(
            {
                "spec.code": {
                    "archive": {"url": "https://files.lab/lab.zip", "sha256": "0" * 64},
                    "certificateAuthority": {"configMap": "lab-ca"},
                },
                **dict.fromkeys(("spec.driver.template", "spec.workers.template"), BEHIND_A_PROXY),
                "spec.ray": {"head": {"template": BEHIND_A_PROXY}},
            },
            id="code of a private server behind a proxy",
        ),
    ],
)
def test_nothing_is_said_where_nothing_is_odd(changes: dict[str, Any]) -> None:
    assert warnings(fleet(changes)) == []
