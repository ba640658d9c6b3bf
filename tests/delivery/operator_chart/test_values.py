"""Values: each is described and checked, and what is none is refused by name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from tests.delivery.helm import Helm, HelmError
from tests.delivery.operator_chart.rendering import CHART, FULL_NAME, NAMESPACE, of_kind, only, pod, rendered

VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
# Of a chart that this one is a part of.
OF_PARENTS = {"global", "enabled"}


def closed(schema: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """The parts of the schema that know all their keys, by path."""
    if schema.get("additionalProperties") is False:
        yield path, schema["properties"]
        for name, inner in schema["properties"].items():
            yield from closed(inner, (*path, name))


@pytest.mark.parametrize(
    ("path", "known"), [pytest.param(*one, id=".".join(one[0]) or "top") for one in closed(SCHEMA)]
)
def test_the_schema_knows_the_values_that_there_are(path: tuple[str, ...], known: dict[str, Any]) -> None:
    values = VALUES
    for name in path:
        values = values[name]
    assert set(known) - (set() if path else OF_PARENTS) == set(values)


@pytest.mark.parametrize("path", [pytest.param(path, id=".".join(path) or "top") for path, _ in closed(SCHEMA)])
def test_an_unknown_key_is_refused_by_name(helm: Helm, path: tuple[str, ...]) -> None:
    with pytest.raises(HelmError, match="misspelt"):
        rendered(helm, "--set", ".".join((*path, "misspelt")) + "=1")


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ("image.digest=abc", "digest"),
        ("image.pullPolicy=Sometimes", "pullPolicy"),
        ("watchNamespaces={Team_A}", "watchNamespaces"),
        ("watchNamespaces={a,a}", "watchNamespaces"),
        ("crds.enabled=yes please", "enabled"),
        ("extraArgs={verbose}", "extraArgs"),
        ("networkPolicy.apiServerPorts={0}", "apiServerPorts"),
    ],
    ids=lambda it: it,
)
def test_a_value_of_the_wrong_kind_is_refused_by_name(helm: Helm, value: str, named: str) -> None:
    with pytest.raises(HelmError, match=named):
        rendered(helm, "--set", value)


def test_objects_are_named_after_the_release(helm: Helm) -> None:
    deployment = only(rendered(helm), "Deployment")
    assert (deployment["metadata"]["name"], deployment["metadata"]["namespace"]) == (FULL_NAME, NAMESPACE)


def test_a_release_with_the_charts_name_does_not_say_it_twice(helm: Helm) -> None:
    objects = helm.template(CHART, name="collectorfleet-operator")
    assert only(objects, "Deployment")["metadata"]["name"] == "collectorfleet-operator"


def test_names_and_namespace_are_what_overrides_say(helm: Helm) -> None:
    objects = rendered(helm, namespaceOverride="there", nameOverride="fleets", fullnameOverride="the-fleets")
    deployment = only(objects, "Deployment")
    assert deployment["metadata"]["name"] == "the-fleets"
    assert deployment["metadata"]["labels"]["app.kubernetes.io/name"] == "fleets"
    assert only(objects, "ClusterRoleBinding")["subjects"][0]["namespace"] == "there"
    assert {one["metadata"].get("namespace", "there") for one in objects} == {"there"}


def test_every_object_says_which_release_it_is_of(helm: Helm) -> None:
    every = {"podDisruptionBudget": {"enabled": True}, "networkPolicy": {"enabled": True, "apiServerPorts": [443]}}
    labels = {
        "app.kubernetes.io/name": "collectorfleet-operator",
        "app.kubernetes.io/instance": "release",
        "app.kubernetes.io/managed-by": "Helm",
    }
    for one in rendered(helm, **every):
        assert labels.items() <= one["metadata"]["labels"].items(), one["kind"]


def test_what_selects_the_pod_finds_it_whatever_labels_it_is_given(helm: Helm) -> None:
    every = {"podDisruptionBudget": {"enabled": True}, "networkPolicy": {"enabled": True, "apiServerPorts": [443]}}
    objects = rendered(helm, podLabels={"app.kubernetes.io/name": "mine", "team": "rl"}, **every)
    labels = pod(objects)["metadata"]["labels"]
    selectors = [
        *(only(objects, kind)["spec"]["selector"]["matchLabels"] for kind in ("Deployment", "PodDisruptionBudget")),
        *(one["spec"]["podSelector"]["matchLabels"] for one in of_kind(objects, "NetworkPolicy")),
    ]
    assert len(selectors) == 3
    for selector in selectors:
        assert selector.items() <= labels.items()
    assert labels["team"] == "rl"
