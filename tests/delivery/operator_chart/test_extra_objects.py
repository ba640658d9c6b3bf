"""templates/extra-objects.yaml"""

from __future__ import annotations

import pytest
from tests.delivery.helm import Helm
from tests.delivery.operator_chart.rendering import of_kind, only, rendered

TEXT = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-text"
MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "{{ .Release.Name }}-map"}}


@pytest.mark.parametrize(("given", "name"), [(TEXT, "release-text"), (MAP, "release-map")], ids=["text", "map"])
def test_a_further_object_is_part_of_the_release_with_its_templates_rendered(
    helm: Helm, given: object, name: str
) -> None:
    assert only(rendered(helm, extraObjects=[given]), "ConfigMap")["metadata"]["name"] == name


def test_several_are_several(helm: Helm) -> None:
    found = of_kind(rendered(helm, extraObjects=[TEXT, MAP]), "ConfigMap")
    assert {one["metadata"]["name"] for one in found} == {"release-text", "release-map"}
