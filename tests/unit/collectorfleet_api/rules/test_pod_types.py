"""The types of a pod's fields: which Kubernetes they are of, and that another reading of its schema says the same."""

from __future__ import annotations

import re
from importlib import import_module

import pytest
from tests.cluster.binaries import ROOT

from collectorfleet_api.rules.pods.types import pod_types
from collectorfleet_api.rules.pods.values import CHOICES, FORMS, KEY_FORMS, RANGES


def test_they_are_of_the_version_that_is_pinned() -> None:
    pinned = re.search(r"kubernetes-validate==(\d+\.\d+)", (ROOT / "requirements/pod-types.txt").read_text())
    assert pinned is not None
    assert pod_types().kubernetes.startswith(f"{pinned[1]}.")


def test_the_client_of_kubernetes_has_the_same_fields() -> None:
    models = import_module("kubernetes.client.models")
    differing = {}
    for name, type_ in pod_types().by_name.items():
        # Two groups have a type of this name.
        model = getattr(models, "CoreV1ResourceClaim" if name == "ResourceClaim" else f"V1{name}")
        if names := type_.fields.keys() ^ set(model.attribute_map.values()):
            differing[name] = names
    assert differing == {}


@pytest.mark.parametrize("table", [CHOICES, FORMS, KEY_FORMS, RANGES], ids=["choices", "forms", "keys", "ranges"])
def test_each_rule_is_about_a_field_that_exists(table: dict[tuple[str, str], object]) -> None:
    assert [place for place in table if place[1] not in pod_types().by_name[place[0]].fields] == []
