from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collectorfleet_api.schema.chart_values import json_schema, to_json, values_schema
from collectorfleet_api.schema.crd import schema

WRITTEN = Path(__file__).parents[4] / "charts" / "collectorfleet" / "values.schema.json"
FLEET = values_schema()["properties"]["fleet"]


def nodes(node: dict[str, Any], path: str = "fleet") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, node
    for name, inner in node.get("properties", {}).items():
        yield from nodes(inner, f"{path}.{name}")
    if "items" in node:
        yield from nodes(node["items"], f"{path}[]")


def test_the_written_schema_is_what_the_crd_says() -> None:
    assert WRITTEN.read_text() == to_json(), "stale: run `make generate`"


def test_it_has_the_fields_of_the_crd_and_no_others() -> None:
    of_the_crd = [path for path, _ in nodes(schema()["properties"]["spec"])]
    assert len(of_the_crd) > 100
    assert [path for path, _ in nodes(FLEET)] == of_the_crd


def test_it_is_open_where_the_api_server_keeps_what_it_does_not_know_and_nowhere_else() -> None:
    of_the_crd = dict(nodes(schema()["properties"]["spec"]))
    for path, node in nodes(FLEET):
        if "object" in node["type"]:
            is_open = of_the_crd[path].get("x-kubernetes-preserve-unknown-fields", False)
            has_any_key = "additionalProperties" in of_the_crd[path]
            assert (node.get("additionalProperties") is not False) == (is_open or has_any_key), path


def test_no_keyword_of_kubernetes_is_left() -> None:
    assert [path for path, node in nodes(FLEET) if any(key.startswith("x-") for key in node)] == []


def test_a_keyword_that_nobody_translated_is_an_error_and_not_dropped() -> None:
    odd = {"type": "object", "properties": {"a": {"type": "integer", "multipleOf": 2}}}
    with pytest.raises(ValueError, match="no JSON schema is known for \\['multipleOf'\\]"):
        json_schema(odd)
