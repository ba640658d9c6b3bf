"""Writes the CustomResourceDefinition from the models.

``python -m collectorfleet_api.schema.crd > crds/collectorfleets.yaml``

A structural schema has no references, no ``null`` as a second type, and no ``additionalProperties: false``. The API
server itself drops or refuses unknown fields. An unknown keyword raises an error, so that no constraint gets lost.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Any, Final

from collectorfleet_api.manifests.yaml_writer import to_yaml
from collectorfleet_api.names import GROUP, KIND, PLURAL, VERSION, VERSION_LABEL
from collectorfleet_api.rules.cel import RULES
from collectorfleet_api.v1alpha1.base import Model, whole_floats_to_int
from collectorfleet_api.v1alpha1.reasons import ConditionType
from collectorfleet_api.v1alpha1.spec import CollectorFleetSpec
from collectorfleet_api.v1alpha1.status import CollectorFleetStatus

Schema = dict[str, Any]

_KEPT: Final = frozenset(
    {
        *("type", "description", "default", "format", "enum", "pattern", "not", "required"),
        *("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "maxProperties"),
        *("items", "properties", "additionalProperties", "x-kubernetes-preserve-unknown-fields"),
        *("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-int-or-string"),
    }
)
_DROPPED: Final = frozenset({"title", "$defs"})

# (name, type, path, shown only with `-o wide`)
COLUMNS: Final = (
    ("Ready", "string", f'.status.conditions[?(@.type=="{ConditionType.READY}")].status', False),
    ("Collectors", "string", ".status.progress.collectors.summary", False),
    # The version that every available collector runs, empty if unknown. `-o wide` has the published version.
    ("Weights", "integer", ".status.weights.acknowledged", False),
    ("Staleness", "integer", ".status.weights.staleness.max", False),
    ("Frames", "integer", ".status.progress.framesDelivered", False),
    ("FPS", "number", ".status.progress.framesPerSecond", False),
    ("Eval", "string", ".status.evaluation.summary", False),
    ("Done", "string", ".status.progress.summary", False),
    ("Phase", "string", ".status.phase", False),
    ("Age", "date", ".metadata.creationTimestamp", False),
    ("Mode", "string", ".spec.collection.mode", True),
    ("Published", "integer", ".status.weights.published", True),
    ("Of", "integer", ".spec.collection.totalFrames", True),
    ("Groups", "string", ".status.progress.collectors.groupsSummary", True),
    ("Restarts", "integer", ".status.driver.restarts", True),
    ("Reason", "string", f'.status.conditions[?(@.type=="{ConditionType.READY}")].reason', True),
)


def crd() -> dict[str, Any]:
    """Return the CustomResourceDefinition as an object."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}", "labels": {VERSION_LABEL: version("collectorfleet")}},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": KIND,
                "listKind": f"{KIND}List",
                "plural": PLURAL,
                "singular": KIND.lower(),
                "shortNames": ["cfleet"],
                "categories": ["torchrl"],
            },
            "scope": "Namespaced",
            "versions": [_version()],
        },
    }


def main() -> None:
    """Print the CRD as YAML."""
    sys.stdout.write(text())


def text() -> str:
    """Return the text of ``crds/collectorfleets.yaml``."""
    return f"# Generated from the models by `python -m collectorfleet_api.schema.crd`; change those.\n{to_yaml(crd())}"


def schema() -> Schema:
    """Return the OpenAPI schema of the whole object, with descriptions, defaults and rules."""
    spec = structural(CollectorFleetSpec, "The fleet that you want.", defaults=True)
    # No defaults below status, because the API server would write numbers that nothing has measured.
    status = structural(CollectorFleetStatus, "The observed state of the fleet.", defaults=False)
    # Tools compare this number with the generation. They treat the fleet as unfinished until the operator writes the
    # status.
    status["default"] = {"observedGeneration": -1}
    root: Schema = {
        "type": "object",
        "description": "A fleet of reinforcement-learning data collectors on Ray, fed with weights by one driver.",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string", "description": "Group and version of this resource."},
            "kind": {"type": "string", "description": "CollectorFleet."},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": status,
        },
    }
    for path, rules in RULES.items():
        _at(root, path)["x-kubernetes-validations"] = [rule.to_schema() for rule in rules]
    return root


def structural(model: type[Model], description: str, *, defaults: bool) -> Schema:
    """Return the model's schema in the form that Kubernetes accepts."""
    full = model.model_json_schema(by_alias=True) | {"description": description}
    return _convert(full, full.get("$defs", {}), defaults=defaults)


def _version() -> dict[str, Any]:
    return {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema()},
        "subresources": {
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.collectors.replicas",
                "statusReplicasPath": ".status.replicas",
                "labelSelectorPath": ".status.selector",
            },
        },
        "additionalPrinterColumns": [
            {"name": name, "type": type_, "jsonPath": path} | ({"priority": 1} if wide else {})
            for name, type_, path, wide in COLUMNS
        ],
    }


def _convert(schema: Schema, defs: Schema, *, defaults: bool) -> Schema:
    schema = _resolved(schema, defs)
    unknown = schema.keys() - _KEPT - _DROPPED
    if unknown:
        raise ValueError(f"no structural form is known for {sorted(unknown)} in {schema}")
    found: Schema = {}
    for key in sorted(schema.keys() & _KEPT, key=_order):
        value = schema[key]
        if key == "properties":
            required = schema.get("required", [])
            value = {
                name: _property(inner, defs, defaults=defaults, required=name in required)
                for name, inner in value.items()
            }
        elif key == "items" or (key == "additionalProperties" and isinstance(value, dict)):
            value = _convert(value, defs, defaults=defaults)
        elif key == "additionalProperties" or (key == "default" and (value is None or not defaults)):
            continue
        elif key == "default":
            value = whole_floats_to_int(value)
        found[key] = value
    return found


def _property(schema: Schema, defs: Schema, *, defaults: bool, required: bool) -> Schema:
    found = _convert(schema, defs, defaults=defaults)
    optional = required or _is_nullable(schema)
    if defaults and not optional and "properties" in found and "$ref" in schema:
        # Defaults of inner fields apply only where their parent exists.
        return {"type": found.pop("type"), "description": found.pop("description"), "default": {}, **found}
    return found


def _resolved(schema: Schema, defs: Schema) -> Schema:
    """Return ``schema`` without references and ``null``. Keywords beside a reference override those of its target."""
    if _is_nullable(schema):
        inner = next(s for s in schema["anyOf"] if s != {"type": "null"})
        schema = inner | {key: value for key, value in schema.items() if key != "anyOf"}
    if "$ref" in schema:
        target = defs[schema["$ref"].rsplit("/", 1)[1]]
        schema = _resolved(target, defs) | {key: value for key, value in schema.items() if key != "$ref"}
    return schema


def _is_nullable(schema: Schema) -> bool:
    return {"type": "null"} in schema.get("anyOf", []) and len(schema["anyOf"]) == 2


def _at(root: Schema, path: str) -> Schema:
    for part in path.split(".") if path else []:
        root = root["properties"][part.removesuffix("[]")]
        root = root["items"] if part.endswith("[]") else root
    return root


def _order(key: str) -> tuple[int, str]:
    first = ("type", "description", "default", "required")
    return (first.index(key) if key in first else len(first), key)


if __name__ == "__main__":
    main()
