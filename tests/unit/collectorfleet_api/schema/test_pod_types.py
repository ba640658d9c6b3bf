"""The table of a pod's types is written from the newest schema that a package holds."""

from __future__ import annotations

import json
from pathlib import Path

from collectorfleet_api.schema.pod_types import pod_types

CORE = "io.k8s.api.core.v1."
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
DEFINITIONS = {
    f"{CORE}PodSpec": {
        "required": ["containers"],
        "properties": {
            "containers": {
                "type": ["array", "null"],
                "items": {"$ref": f"#/$defs/{CORE}Container"},
                "x-kubernetes-list-map-keys": ["name"],
            },
            "overhead": {"type": "object", "additionalProperties": {"$ref": f"#/$defs/{QUANTITY}"}},
            "priority": {"type": ["integer", "null"], "format": "int32"},
        },
    },
    f"{CORE}Container": {"required": ["name"], "properties": {"name": {"type": "string"}, "any": {"type": "object"}}},
    QUANTITY: {"oneOf": [{"type": "string"}, {"type": "number"}]},
    f"{CORE}Node": {"properties": {"of": {"type": "string"}}},
}


def test_the_types_of_a_pod_are_those_of_the_newest_version(tmp_path: Path) -> None:
    for version, definitions in (("v1.9.0", {}), ("v1.10.0", DEFINITIONS)):
        folder = tmp_path / f"{version}-local"
        folder.mkdir()
        (folder / "_definitions.json").write_text(json.dumps({"$defs": definitions}))
    (tmp_path / "v1.11.0-local-strict").mkdir()
    assert pod_types(tmp_path) == {
        "kubernetes": "1.10.0",
        "types": {
            "Container": {"fields": {"any": "object", "name": "string"}, "required": ["name"], "keys": {}},
            "PodSpec": {
                "fields": {"containers": "[Container]", "overhead": "{quantity}", "priority": "int32"},
                "required": ["containers"],
                "keys": {"containers": ["name"]},
            },
        },
    }
