"""Writes the JSON schema of the fleet chart's values from the CRD.

``python -m collectorfleet_api.schema.chart_values > charts/collectorfleet/values.schema.json``

Helm checks values by this schema before it renders templates or sends requests. The schema equals the CRD as far as
JSON schema (draft 7) can express it. In addition, the schema refuses fields that the API server would drop. Only the
API server checks CEL rules and keys of list-maps. An unknown keyword is an error, as in ``crd``.
"""

from __future__ import annotations

import json
import sys
from typing import Any, Final

from collectorfleet_api.names import MAX_NAME_LENGTH
from collectorfleet_api.schema.crd import schema

Schema = dict[str, Any]

_KEPT: Final = frozenset(
    {
        *("type", "description", "default", "format", "enum", "pattern", "required"),
        *("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"),
        *("items", "properties", "additionalProperties"),
    }
)
_PRESERVED: Final = "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_DROPPED: Final = frozenset(
    {
        *(_PRESERVED, _INT_OR_STRING),
        *("x-kubernetes-validations", "x-kubernetes-list-type", "x-kubernetes-list-map-keys"),
        # In the CRD, these keywords exclude mappings and booleans from fields without a type. In this schema, these
        # fields have a type.
        *("not", "maxProperties"),
    }
)
_TEXTS: Final = {"type": "object", "additionalProperties": {"type": "string"}}


def values_schema() -> Schema:
    """Return the schema of the chart's values, in which ``fleet`` is the CRD's ``spec``."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "required": ["fleet"],
        "properties": {
            "fleet": json_schema(schema()["properties"]["spec"]),
            "code": {
                "type": "object",
                "description": (
                    "Texts by file name. The chart's own templates refuse a value that is not text, with a "
                    "clearer message."
                ),
                "propertyNames": {"pattern": "^[-._a-zA-Z0-9]+$", "maxLength": 253},
            },
            "fullnameOverride": {"type": "string", "maxLength": MAX_NAME_LENGTH},
            "labels": _TEXTS,
            "annotations": _TEXTS,
            # A parent chart may pass `global`, and enable this chart by `enabled`.
            "global": {"type": "object"},
            "enabled": {"type": "boolean"},
        },
        "additionalProperties": False,
    }


def to_json() -> str:
    """Return the text of ``charts/collectorfleet/values.schema.json``."""
    return json.dumps(values_schema(), indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Print the schema."""
    sys.stdout.write(to_json())


def json_schema(node: Schema) -> Schema:
    """Convert a structural schema to JSON schema. Raises ValueError for an unknown keyword."""
    unknown = node.keys() - _KEPT - _DROPPED
    if unknown:
        raise ValueError(f"no JSON schema is known for {sorted(unknown)} in {node}")
    found: Schema = {"type": _type(node), **{key: node[key] for key in node if key in _KEPT and key != "type"}}
    if "type" not in node:
        # A quantity has no type in the CRD, so `maxItems` excludes lists there. In this schema, the type excludes them.
        found.pop("maxItems", None)
    if "properties" in node:
        found["properties"] = {name: json_schema(inner) for name, inner in node["properties"].items()}
    for key in ("items", "additionalProperties"):
        if key in node:
            found[key] = json_schema(node[key])
    if found["type"] == "object" and "additionalProperties" not in node and _PRESERVED not in node:
        found["additionalProperties"] = False
    return found


def _type(node: Schema) -> Any:
    if node.get(_INT_OR_STRING):
        return ["integer", "string"]
    # Only quantities have no type, because Kubernetes' OpenAPI has no type for them.
    return node.get("type", ["number", "string"])


if __name__ == "__main__":
    main()
