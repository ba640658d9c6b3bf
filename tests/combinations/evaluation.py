"""Of `spec.evaluation`."""

from __future__ import annotations

import pytest

from tests.combinations.parts import JOB
from tests.manifests import ABSENT

_INTERVALS = "everyVersions, everySeconds and everyFrames exclude each other; keep one of them"

REFUSED = [
    pytest.param(
        {"spec.evaluation": {}, "spec.policy": ABSENT},
        "spec.evaluation: without a policy, collectors act at random, and there is no version to evaluate; name the "
        "policy's factory in spec.policy",
        id="evaluation without a policy",
    ),
    pytest.param(
        {"spec.evaluation": {"everyVersions": 10, "everySeconds": 60}},
        f"spec.evaluation: {_INTERVALS}",
        id="evaluation after versions and seconds",
    ),
    pytest.param(
        {"spec.evaluation": {"everyVersions": 10, "everySeconds": 60, "everyFrames": 1000}},
        f"spec.evaluation: {_INTERVALS}",
        id="evaluation by three intervals",
    ),
    pytest.param(
        {"spec.evaluation": {"keepBest": True}},
        "spec.evaluation.keepBest: the best weights are kept beside the checkpoints; set driver.checkpoint",
        id="the best weights without checkpoints",
    ),
    pytest.param(
        {"spec.evaluation": {"episodes": 2, "video": {"episodes": 3}}},
        "spec.evaluation.video.episodes: it is larger than evaluation.episodes; lower it, or raise evaluation.episodes",
        id="more videos than episodes",
    ),
    pytest.param(
        {**JOB, "spec.evaluation": {"template": {"spec": {"nodeSelector": {"pool": "cpu"}}}}},
        "spec.evaluation.template: with launcher Job, evaluators run in the driver pod; set driver.template instead, "
        "or set launcher to RayCluster",
        id="evaluator pods without Ray",
    ),
    pytest.param(
        {**JOB, "spec.evaluation": {"resources": {"gpu": 0.5}}},
        "spec.evaluation.resources.gpu: with launcher Job, evaluators run in the driver pod, whose GPUs only the "
        "driver uses; leave this field out, or set launcher to RayCluster",
        id="evaluators on a GPU without Ray",
    ),
    pytest.param(
        {"spec.evaluation": {"resources": {"gpu": 3}}, "spec.workers.gpu.perPod": 2},
        "spec.evaluation.resources.gpu: an evaluator requests 3 GPUs, but a pod has at most 2 (workers.gpu.perPod); "
        "set "
        "perPod to at least 3, or request fewer GPUs",
        id="an evaluator of more GPUs than a pod has",
    ),
    pytest.param(
        {"spec.collectors.groups": [{"name": "evaluators", "replicas": 4}]},
        'spec.collectors.groups: the name "evaluators" is reserved for the pods of spec.evaluation; rename the group',
        id="a group that is called evaluators",
    ),
]
