from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from collectorfleet_api.rules.cel import RULES
from collectorfleet_api.schema.crd import crd, schema, structural, text
from collectorfleet_api.v1alpha1 import Model

WRITTEN = Path(__file__).parents[4] / "crds" / "collectorfleets.yaml"


def fields(node: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    for name, inner in node.get("properties", {}).items():
        yield f"{path}.{name}", inner
        yield from fields(inner, f"{path}.{name}")
    if "items" in node:
        yield from fields(node["items"], f"{path}[]")


def test_the_written_crd_is_what_the_models_say() -> None:
    assert WRITTEN.read_text() == text(), "stale: run `make generate`"


def test_the_crd_fits_into_an_annotation_of_client_side_apply_with_room_to_grow() -> None:
    # JSON is what kubectl writes there. A capability such as evaluation adds about 10 kB.
    assert len(json.dumps(crd(), separators=(",", ":")).encode()) < 0.6 * 256 * 1024


def test_every_field_says_what_it_is() -> None:
    # Kubernetes allows no description on metadata, which it describes itself.
    found = [(path, inner) for path, inner in fields(schema()) if path != ".metadata"]
    assert len(found) > 100
    assert [path for path, inner in found if len(inner.get("description", "")) < 5] == []


def test_every_duration_of_the_spec_that_is_added_to_a_time_has_a_maximum() -> None:
    durations = {path: inner for path, inner in fields(schema()["properties"]["spec"]) if "Seconds" in path}
    assert len(durations) > 10
    # The operator passes the duration of a toleration to Kubernetes.
    assert [path for path, inner in durations.items() if "maximum" not in inner] == [".tolerations[].tolerationSeconds"]


def test_status_numbers_have_no_defaults_that_nobody_measured() -> None:
    status = schema()["properties"]["status"]
    assert status["default"] == {"observedGeneration": -1}
    assert [path for path, inner in fields(status) if "default" in inner] == []


def test_lists_of_things_with_names_merge_by_name() -> None:
    status = schema()["properties"]["status"]["properties"]
    assert status["conditions"]["x-kubernetes-list-map-keys"] == ["type"]
    assert status["collectors"]["x-kubernetes-list-map-keys"] == ["name"]


def test_a_constraint_without_structural_form_is_an_error_and_not_dropped() -> None:
    class Odd(Model):
        even: int = Field(multiple_of=2, description="An even number.")

    with pytest.raises(ValueError, match="no structural form is known for"):
        structural(Odd, "Odd.", defaults=True)


def test_every_rule_hangs_on_a_field_and_has_a_sentence() -> None:
    assert RULES
    for path, rules in RULES.items():
        for rule in rules:
            assert len(rule.message) > 20, (path, rule)
            assert "  " not in rule.message


def test_no_rule_contains_the_name_of_a_python_constant() -> None:
    """A string without the prefix ``f`` would leave ``{_GPU}`` in a CEL expression, which the API server refuses."""
    rules = [rule.to_schema() for found in RULES.values() for rule in found]
    assert not [text for rule in rules for text in map(str, rule.values()) if re.search(r"\{_?[A-Z][A-Z_]+\}", text)]


def test_the_scale_subresource_counts_collectors() -> None:
    version = crd()["spec"]["versions"][0]
    assert version["subresources"]["scale"]["specReplicasPath"] == ".spec.collectors.replicas"
