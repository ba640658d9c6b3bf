"""``spec.evaluation``: what is wrong with its pods is said before one exists."""

from __future__ import annotations

from typing import Any

import pytest
from tests.combinations.parts import EVALUATION
from tests.manifests import fleet, problems_of

from collectorfleet_api.rules.advice import warnings


def with_(**evaluation: Any) -> dict[str, Any]:
    return {"spec.evaluation": {**EVALUATION, **evaluation}}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        pytest.param(
            with_(template={"nodeSelector": {"pool": "cpu"}}),
            "spec.evaluation.template.nodeSelector: a pod template has only the fields metadata and spec; did you mean "
            "spec.nodeSelector?",
            id="a pod's field beside the spec",
        ),
        pytest.param(
            with_(template={"spec": {"containers": [{"image": "mine:2"}]}}),
            "spec.evaluation.template.spec.containers[0]: an item without a name cannot be merged with the operator's "
            "items; set a name",
            id="a container without a name",
        ),
        pytest.param(
            with_(resources={"memory": "2"}),
            "spec.evaluation.resources.memory: 2 is 2 bytes, too little memory for a process; write 2Gi",
            id="two bytes",
        ),
        pytest.param(
            {
                **with_(),
                "spec.collectors.resources.custom": {"evaluator": 1},
                "spec.workers.customPerPod": {"evaluator": 2},
            },
            "spec.collectors.resources.custom: evaluator is reserved for placing evaluators; use another name",
            id="a custom resource with the name of evaluators' own",
        ),
        pytest.param(
            with_(environment={"factory": "my_envs"}),
            "spec.evaluation.environment.factory: ",
            id="a factory that is no import path",
        ),
        pytest.param(
            with_(resources={"gpu": 1.5}),
            "spec.evaluation.resources.gpu: 1.5 is more than one GPU and not whole; use 1, 2, or a share below 1 such "
            "as 0.5",
            id="a GPU and a half",
        ),
        pytest.param(
            with_(resources={"gpu": 0.33333}),
            "spec.evaluation.resources.gpu: 0.33333 is finer than 0.0001 of a GPU, the smallest step that Ray counts; "
            "use 0.3333",
            id="a share that Ray does not count",
        ),
        pytest.param(with_(resources={"gpu": -1}), "spec.evaluation.resources.gpu: ", id="a negative number of GPUs"),
        pytest.param(with_(resources={"gpu": 65}), "spec.evaluation.resources.gpu: ", id="more GPUs than any node has"),
        pytest.param(with_(replicas=0), "spec.evaluation.replicas: ", id="no evaluator"),
        pytest.param(with_(replicas=101), "spec.evaluation.replicas: ", id="more evaluators than there may be"),
        pytest.param(with_(episodes=0), "spec.evaluation.episodes: ", id="no episode"),
        pytest.param(with_(seeds=[]), "spec.evaluation.seeds: ", id="no seed"),
        pytest.param(with_(seeds=[3, 4, 3]), "spec.evaluation.seeds: 3 appears twice", id="a seed twice"),
        pytest.param(with_(seeds=[-1]), "spec.evaluation.seeds[0]: ", id="a negative seed"),
        pytest.param(with_(seeds=[2**31]), "spec.evaluation.seeds[0]: ", id="a seed that no simulator takes"),
        pytest.param(with_(everyVersions=0), "spec.evaluation.everyVersions: ", id="an interval of nothing"),
        pytest.param(with_(stopWhen={}), "spec.evaluation.stopWhen.returnMean: ", id="a goal without a number"),
        pytest.param(with_(video={"episodes": 0}), "spec.evaluation.video.episodes: ", id="a video of nothing"),
        pytest.param(with_(video={"episodes": 6}), "spec.evaluation.video.episodes: ", id="too many videos"),
        pytest.param(with_(video={"pixelKey": ""}), "spec.evaluation.video.pixelKey: ", id="an entry without a name"),
        pytest.param(with_(episode=3), "spec.evaluation.episode: unknown field; did you mean episodes?", id="a typo"),
    ],
)
def test_what_cannot_be_is_refused_where_it_was_written(changes: dict[str, Any], sentence: str) -> None:
    found = problems_of(changes)
    assert found
    assert found[0].startswith(sentence)


def test_a_fleet_without_an_evaluation_may_use_the_name_of_its_resource() -> None:
    named = {"spec.collectors.resources.custom": {"evaluator": 1}, "spec.workers.customPerPod": {"evaluator": 2}}
    assert problems_of(named) == []


def test_keyword_arguments_that_are_nested_too_deeply_are_refused() -> None:
    value: Any = 1
    for _ in range(64):
        value = {"a": value}
    (sentence,) = problems_of(with_(environment={"kwargs": {"deep": value}}))
    assert sentence.startswith("spec.evaluation.environment.kwargs.deep: nested more than 64 levels")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        pytest.param(
            with_(template={"spec": {"hostNetwork": True}}),
            "spec.evaluation.template.spec.hostNetwork: a namespace that enforces the Pod Security Standard "
            '"restricted" refuses the pod; leave this field out in such a namespace',
            id="the node's network",
        ),
        pytest.param(
            with_(environment={"kwargs": {"level": None}}),
            "spec.evaluation.environment.kwargs.level: `kubectl apply` removes this null; leave the argument out, and "
            "make None its default in the function",
            id="a keyword that is null",
        ),
        pytest.param(
            with_(resources={"gpu": 1}) | {"spec.workers.gpu": {"mode": "MPS", "perPod": 2}},
            "spec.evaluation.resources.gpu: an evaluator pod has 2 GPUs with mode MPS: the device plugin gives a pod "
            "only one replica; use 1 or a share, and set spec.workers.gpu.perPod to 1",
            id="replicas that a pod does not get",
        ),
        pytest.param(
            with_(resources={"gpu": 1}) | {"spec.workers.gpu": {"mode": "None"}},
            "spec.evaluation.template: not set, and with workers.gpu.mode None, the operator requests no GPUs; set a "
            "template that gives evaluator pods their GPUs",
            id="GPUs that no template requests",
        ),
    ],
)
def test_what_is_hardly_meant_is_told(changes: dict[str, Any], sentence: str) -> None:
    assert [str(one) for one in warnings(fleet(changes))] == [sentence]


def gpus(amount: object) -> dict[str, Any]:
    """A template that gives Ray's container GPUs, or takes them away."""
    return {"spec": {"containers": [{"name": "ray-worker", "resources": {"limits": {"nvidia.com/gpu": amount}}}]}}


def test_gpus_that_evaluator_pods_take_over_from_workers_are_told() -> None:
    inherited = with_() | {"spec.workers.template": gpus(1)}
    (found,) = warnings(fleet(inherited))
    assert str(found) == (
        "spec.evaluation.template: evaluator pods inherit nvidia.com/gpu from "
        "spec.workers.template, but no evaluator uses nvidia.com/gpu; set this resource to null here"
    )
    assert warnings(fleet(with_(template=gpus(None)) | {"spec.workers.template": gpus(1)})) == []
    assert warnings(fleet(with_() | {"spec.workers.template": gpus(0)})) == []
    odd = {"spec": {"containers": [{"name": "ray-worker", "resources": "x"}]}}
    assert warnings(fleet(with_() | {"spec.workers.template": odd})) == []


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"spec.workers.template": gpus(1)}, id="a limit in the template of workers"),
        pytest.param({"spec.workers.gpu": {"mode": "MPS"}}, id="a mode of their GPUs alone"),
        pytest.param({"spec.workers": {"gpu": {"mode": "None"}, "template": gpus(1)}}, id="GPUs of a template"),
    ],
)
def test_nothing_is_odd_about_gpus_that_evaluators_use(changes: dict[str, Any]) -> None:
    assert warnings(fleet(with_(resources={"gpu": 0.5}) | changes)) == []


def test_every_tenth_version_is_evaluated_unless_an_interval_is_set() -> None:
    for changes, versions in (({}, 10), ({"everyVersions": 3}, 3), ({"everySeconds": 9}, None)):
        found = fleet({"spec.evaluation": changes}).spec.evaluation
        assert found is not None
        assert found.versions_between == versions
