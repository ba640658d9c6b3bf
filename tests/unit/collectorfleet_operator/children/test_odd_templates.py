"""Pod templates are free in the CRD: what has an odd form in them is refused by name, or left to the API server.

What raised here would raise at each look at the fleet, whose status then says nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Final

import pytest
from tests.combinations.parts import EVALUATION
from tests.combinations.parts import JOB as WITHOUT_RAY
from tests.manifests import manifest

from collectorfleet_api.rules.validation import problems
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.merge import merge, overlaid
from collectorfleet_operator.children.table import manifests

ODD: Final[tuple[Any, ...]] = (
    *(None, "x", 1, True, {}, {"a": 1}, {"a": None}, {"limits": "x"}, {"limits": ["x"]}, {"claims": "x"}),
    *([], ["x"], [None], [[1]], [{}], [{"name": "x"}], [{"name": None}], [{"name": ["x"]}], [{"key": ["x"]}]),
    *([{"containerPort": []}], [{"mountPath": {}}], {"limits": {"nvidia.com/gpu": [1]}}),
)
# An item with a key for each list of named items.
NAMED: Final = [{"name": "x", "containerPort": 1, "mountPath": "/x", "devicePath": "/x"}]
OF_A_CONTAINER: Final = (
    *("env", "envFrom", "ports", "volumeMounts", "volumeDevices", "resources", "securityContext", "command", "args"),
    *("image", "lifecycle", "livenessProbe"),
)
OF_A_POD: Final = (
    *("tolerations", "volumes", "nodeSelector", "affinity", "imagePullSecrets", "securityContext", "initContainers"),
    *("containers", "serviceAccountName", "resourceClaims", "schedulerName", "overhead", "hostAliases"),
    *("terminationGracePeriodSeconds", "restartPolicy", "topologySpreadConstraints"),
)


def templates(container: str, values: Sequence[Any] = ODD) -> list[dict[str, Any]]:
    """Each value, by default each odd thing, in each place."""
    found: list[dict[str, Any]] = []
    for odd in values:
        found += [{"spec": {"containers": [{"name": container, key: odd}]}} for key in OF_A_CONTAINER]
        found += [{"spec": {key: odd}} for key in OF_A_POD]
        found += [{"metadata": {key: odd}} for key in ("labels", "annotations")]
        found += [{"spec": odd}, {"metadata": odd}]
    return found


@pytest.mark.parametrize(
    ("place", "container", "launcher"),
    [
        ("spec.driver.template", "driver", {}),
        ("spec.ray.head.template", "ray-head", {}),
        ("spec.workers.template", "ray-worker", {}),
        ("spec.driver.template", "driver", WITHOUT_RAY),
        ("spec.workers.template", "collectors", WITHOUT_RAY),
    ],
)
def test_what_is_taken_can_be_made_into_children(place: str, container: str, launcher: dict[str, Any]) -> None:
    refused = 0
    for template in templates(container):
        fleet = CollectorFleet.from_wire(manifest({**launcher, place: template}))
        if list(problems(fleet)):
            refused += 1
        else:
            manifests(fleet)
    assert refused


def of_a_group(template: dict[str, Any]) -> dict[str, Any]:
    return {"spec.collectors.groups": [{"name": "own", "replicas": 4, "workers": {"template": template}}]}


def of_evaluators(template: dict[str, Any]) -> dict[str, Any]:
    return {"spec.evaluation": {**EVALUATION, "template": template}}


@pytest.mark.parametrize("own", [of_a_group, of_evaluators])
@pytest.mark.parametrize("odd_is_over", [False, True], ids=["under", "over"])
def test_an_odd_template_under_or_over_another_can_be_made_into_children(
    own: Callable[[dict[str, Any]], dict[str, Any]], odd_is_over: bool
) -> None:
    made = 0
    for odd, other in zip(templates("ray-worker"), templates("ray-worker", (NAMED,) * len(ODD)), strict=True):
        under, over = (other, odd) if odd_is_over else (odd, other)
        fleet = CollectorFleet.from_wire(manifest({"spec.workers.template": under, **own(over)}))
        if not list(problems(fleet)):
            manifests(fleet)
            made += 1
    assert made


@pytest.mark.parametrize("under", ODD, ids=str)
def test_two_odd_values_of_one_field_merge_without_an_error(under: Any) -> None:
    for over, field in itertools.product(ODD, (*OF_A_CONTAINER, *OF_A_POD)):
        merge({field: NAMED}, overlaid({field: under}, {field: over}))
