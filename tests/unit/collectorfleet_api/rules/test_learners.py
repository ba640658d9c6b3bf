"""``spec.learners``: its policies have names of their own, and its arithmetic is told before a pod exists."""

from __future__ import annotations

from typing import Any

import pytest
from tests.combinations.parts import LEARNERS
from tests.manifests import fleet, problems_of

from collectorfleet_api.rules.advice import warnings


def with_(**learners: Any) -> dict[str, Any]:
    return {"spec.learners": {**LEARNERS, **learners}}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        pytest.param(
            with_(policies=[{"id": "red"}, {"id": "red", "module": "blue"}]),
            "spec.learners.policies[1].id: red appears twice; name each policy once",
            id="an id twice",
        ),
        pytest.param(
            with_(policies=[{"id": "red"}, {"id": "blue", "module": "red"}]),
            "spec.learners.policies[1].module: red is also the module of policy red; give each policy a module of its "
            "own",
            id="a module twice",
        ),
        pytest.param(
            with_(policies=[{"id": "main/0", "module": "main"}]),
            "spec.learners.policies[0].id: \"main/0\" is not an id; use letters, digits, '-', '_' and '.', and begin "
            "with a letter or a digit",
            id="an id that cannot name a file",
        ),
        pytest.param(
            with_(gpus=2.5),
            "spec.learners.gpus: 2.5 is more than one GPU and not whole; use 2, 3, or a share below 1 such as 0.5",
            id="two GPUs and a half",
        ),
        pytest.param(
            with_(gpus=0.001, maxPolicies=20),
            "spec.learners.gpus: 0.001 GPU for 20 policies is less than 0.0001 each, the smallest step that Ray "
            "counts; use more GPUs or fewer policies",
            id="shares that Ray cannot count",
        ),
        pytest.param(
            with_(replay={"resources": {"cpu": 0}}),
            "spec.learners.replay.resources.cpu: 0 reserves no room in a pod; use a part of a CPU, such as 100m",
            id="no CPU",
        ),
        pytest.param(
            with_(resources={"memory": "2"}),
            "spec.learners.resources.memory: 2 is 2 bytes, too little memory for a process; write 2Gi",
            id="two bytes",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_the_numbers(changes: dict[str, Any], sentence: str) -> None:
    assert problems_of(changes) == [sentence]


def test_gpus_that_no_policy_uses_are_told() -> None:
    assert [str(one) for one in warnings(fleet(with_(gpus=8, maxPolicies=3)))] == [
        (
            "spec.learners.gpus: of 8 GPU, 3 policies in 3 shards use 6 GPU (2 for each policy), and the learner pods "
            "request 6 GPU"
        )
    ]
    assert warnings(fleet(with_(gpus=4, maxPolicies=10))) == []


MIG = {"mode": "MIG", "resource": "nvidia.com/mig-1g.10gb"}


@pytest.mark.parametrize(
    ("gpu", "learners", "sentence"),
    [
        pytest.param(
            MIG,
            {"gpus": 4, "maxPolicies": 4, "shards": 1},
            "spec.learners.gpus: a learner pod has 4 GPUs with mode MIG: CUDA shows a process only one slice; set gpus "
            "and shards to 4",
            id="policies of a slice each in one shard",
        ),
        pytest.param(
            MIG,
            {"gpus": 4},
            "spec.learners.gpus: a learner pod has 2 GPUs with mode MIG: CUDA shows a process only one slice; set gpus "
            "and shards to 2",
            id="policies of two slices",
        ),
        pytest.param(
            {"mode": "MPS"},
            {"gpus": 4},
            "spec.learners.gpus: a learner pod has 2 GPUs with mode MPS: the device plugin gives a pod only one "
            "replica; set gpus and shards to 2",
            id="policies of two replicas",
        ),
    ],
)
def test_parts_of_a_gpu_that_learners_cannot_use_are_told(
    gpu: dict[str, Any], learners: dict[str, Any], sentence: str
) -> None:
    assert [str(one) for one in warnings(fleet(with_(**learners) | {"spec.workers.gpu": gpu}))] == [sentence]


@pytest.mark.parametrize(
    ("gpu", "learners"),
    [
        pytest.param({}, {"gpus": 4}, id="whole GPUs"),
        pytest.param(MIG, {"gpus": 4, "maxPolicies": 10}, id="a slice in each pod"),
    ],
)
def test_gpus_that_learners_use_are_not_told(gpu: dict[str, Any], learners: dict[str, Any]) -> None:
    assert warnings(fleet(with_(**learners) | {"spec.workers.gpu": gpu})) == []


def test_places_are_as_many_as_policies_unless_said() -> None:
    said, absent = fleet(with_(maxPolicies=5)).spec.learners, fleet(with_()).spec.learners
    assert said is not None
    assert absent is not None
    assert (said.places, absent.places) == (5, 2)
    assert [policy.path for policy in absent.policies] == ["red", "module.blue"]
