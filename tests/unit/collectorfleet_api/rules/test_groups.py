"""Groups of a fleet: each has to fit by itself, and all of them into the total."""

from __future__ import annotations

from typing import Any

import pytest
from tests.combinations.parts import SCRIPT
from tests.manifests import fleet, manifest, problems_of

from collectorfleet_api.rules.advice import warnings
from collectorfleet_api.rules.validation import problems, read
from collectorfleet_api.v1alpha1 import CollectorFleet

SMALL = {"name": "small", "replicas": 3}


def beside(**group: Any) -> dict[str, Any]:
    """A fleet of 4 whose last collector is of the group ``big``."""
    return {"spec.collectors.groups": [SMALL, {"name": "big", **group}]}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        pytest.param(
            {"spec.collectors.replicas": 1, **beside(replicas=2)},
            "spec.collectors.replicas: 1, but the groups have 5 in total (small 3, big 2); set replicas to 5, or "
            "change the groups",
            id="another total",
        ),
        pytest.param(
            {"spec.collectors.groups": [SMALL, {"name": "small"}]},
            "spec.collectors.groups[1].name: small appears twice; name each group once",
            id="a name twice",
        ),
        pytest.param(
            {"spec.collectors.groups": [{"name": "head", "replicas": 4}]},
            'spec.collectors.groups[0].name: "head" is a name of the pods of the Ray head; use another name',
            id="head",
        ),
        pytest.param(
            # KubeRay would count the head as one of its workers, and delete it as one.
            {"spec.collectors.groups": [{"name": "headgroup", "replicas": 4}]},
            'spec.collectors.groups[0].name: "headgroup" is a name of the pods of the Ray head; use another name',
            id="headgroup",
        ),
        pytest.param(
            {"spec.collectors.groups": [{"name": "Big", "replicas": 4}]},
            'spec.collectors.groups[0].name: "Big" is not a name of a group; write lower-case letters, digits and '
            "'-', such as big-gpu",
            id="upper case",
        ),
        pytest.param(
            beside(resources={"gpu": 0.3}, workers={"collectorsPerPod": 4}),
            "spec.collectors.groups[1].workers.collectorsPerPod: 4 collectors of 0.3 GPU do not fit on a worker "
            "pod with 1 GPU; use at most 3, or a spec.workers.gpu.perPod of at least 2",
            id="too many in a pod",
        ),
        pytest.param(
            beside(resources={"gpu": 4}, workers={"gpu": {"perPod": 2}}),
            "spec.collectors.groups[1].resources.gpu: a collector requests 4 GPUs, but a worker pod has 2 GPUs "
            "(spec.workers.gpu.perPod); set perPod to at least 4, or request fewer GPUs",
            id="too many GPUs",
        ),
        pytest.param(
            beside(resources={"custom": {"license": 2}}, workers={"customPerPod": {"license": 1}}),
            "spec.collectors.groups[1].resources.custom.license: a collector requests 2 license, but a worker pod "
            "has 1 "
            "(spec.workers.customPerPod); raise this amount to at least 2, or request less",
            id="too little of a custom resource",
        ),
        pytest.param(
            beside(workers={"customPerPod": {"GPU": 1}}),
            "spec.collectors.groups[1].workers.customPerPod: GPU is a resource of Ray itself; use cpu, gpu and "
            "memory of collectors.resources",
            id="a resource of Ray's",
        ),
        pytest.param(
            beside(devices={"device": "cuda"}),
            "spec.collectors.groups[1].devices: device cuda needs a GPU; set collectors.resources.gpu, for example to "
            "0.25, or use cpu",
            id="cuda without a GPU",
        ),
        pytest.param(
            beside(workers={"gpu": {"mode": "MIG"}}),
            "spec.collectors.groups[1].workers.gpu.resource: missing, and required with mode MIG; set the resource of "
            "a slice that nodes offer, such as nvidia.com/mig-1g.10gb",
            id="a slice of no size",
        ),
        pytest.param(
            beside(resources={"memory": 4}),
            "spec.collectors.groups[1].resources.memory: 4 is 4 bytes, too little memory for a process; write 4Gi",
            id="bytes",
        ),
        pytest.param(
            beside(workers={"template": {"nodeSelector": {}}}),
            "spec.collectors.groups[1].workers.template.nodeSelector: a pod template has only the fields metadata and "
            "spec; did you mean spec.nodeSelector?",
            id="template",
        ),
    ],
)
def test_what_is_wrong_with_a_group_is_advice_where_it_stands(changes: dict[str, Any], sentence: str) -> None:
    assert problems_of(changes) == [sentence]


def test_a_group_may_have_what_would_not_fit_the_others() -> None:
    own = beside(resources={"gpu": 1}, devices={"device": "cuda"}, workers={"collectorsPerPod": 1})
    assert problems_of({"spec.workers.collectorsPerPod": 3, **own}) == []


@pytest.mark.parametrize("replicas", [1, 2, 3, 9, 10_000])
def test_kubectl_scale_may_ask_for_any_total(replicas: int) -> None:
    stored = fleet({"spec.collectors.replicas": replicas, "metadata.uid": "1", **beside()})
    assert problems(stored) == []


def test_advice_on_a_groups_gpus_is_advice_at_the_group() -> None:
    own = {"resources": {"gpu": 0.7}, "devices": {"device": "cuda"}}
    found = read(manifest(beside(**own)))
    assert isinstance(found, CollectorFleet)
    (advice,) = warnings(found)
    assert advice.field == "spec.collectors.groups[1].resources.gpu"
    assert advice.message == "collectors leave 0.3 of the 1 GPU of each worker pod unused: 1 collector of 0.7 GPU fits"


def test_groups_of_a_script_differ_in_their_resources_and_pods() -> None:
    assert problems_of({**SCRIPT, **beside(resources={"cpu": 2}, workers={"template": {"spec": {}}})}) == []


def test_what_a_group_does_not_say_is_the_fleets() -> None:
    changes = {
        "spec.environment.kwargs": {"id": "a", "size": 1},
        "spec.collectors.resources": {"cpu": 2, "memory": "3Gi"},
        "spec.collectors.devices": {"device": "cpu"},
        **beside(environment={"kwargs": {"size": 2}}, resources={"memory": "8Gi"}, devices={"storingDevice": "cpu"}),
    }
    spec = fleet(changes).spec
    own = spec.of_group("big")
    assert own.environment is not None
    assert own.environment.kwargs == {"id": "a", "size": 2}
    assert own.collectors.resources.to_wire() == {"cpu": 2, "memory": "8Gi", "gpu": 0}
    assert own.collectors.devices.named == {"device": "cpu", "storingDevice": "cpu"}
    assert (own.collectors.replicas, spec.of_group("small").collectors.replicas) == (1, 3)
    assert spec.of_group("small").environment == spec.environment


def test_a_factory_of_the_group_gets_the_groups_keyword_arguments_alone() -> None:
    spec = fleet({"spec.environment.kwargs": {"id": "a"}, **beside(environment={"factory": "my_envs:big"})}).spec
    own = spec.of_group("big").environment
    assert own is not None
    assert (own.factory, own.kwargs) == ("my_envs:big", {})


def test_a_fleet_without_groups_is_its_own_only_one() -> None:
    spec = fleet().spec
    assert spec.group_names == ("collectors",)
    assert spec.of_group("collectors") is spec
