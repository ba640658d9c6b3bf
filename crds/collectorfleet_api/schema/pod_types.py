"""``python -m collectorfleet_api.schema.pod_types FOLDER`` prints the types of a pod's fields for ``rules.pods``.

FOLDER has the schemas of the package ``kubernetes-validate``. The package has 108 MB, with 1.8 MB of JSON for each
version. ``validate`` needs only the 28 kB that this module prints.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, Final

_FOLDER: Final = re.compile(r"v(\d+)\.(\d+)\.(\d+)-local")
_REFERENCE: Final = "#/$defs/"
_ROOT: Final = "io.k8s.api.core.v1.PodSpec"
# Kubernetes has its own parsers for these types.
_OWN_TYPES: Final = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "intOrString",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "string",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": "object",
}


def pod_types(schemas: Path) -> dict[str, Any]:
    """Return the types of all fields of a PodSpec, from the newest version in a folder of schemas."""
    version, folder = max(
        (tuple(map(int, found.groups())), folder)
        for folder in schemas.iterdir()
        if (found := _FOLDER.fullmatch(folder.name))
    )
    definitions = json.loads((folder / "_definitions.json").read_text())["$defs"]
    types: dict[str, Any] = {}
    waiting = [_ROOT]
    while waiting:
        name = waiting.pop()
        if _short(name) in types:
            continue
        definition = definitions[name]
        properties = definition["properties"]
        types[_short(name)] = {
            "fields": {field: _type(part) for field, part in sorted(properties.items())},
            "required": definition.get("required", []),
            "keys": {field: part[_KEYS] for field, part in sorted(properties.items()) if _KEYS in part},
        }
        waiting += [found for part in properties.values() for found in _references(part)]
    return {"kubernetes": ".".join(map(str, version)), "types": dict(sorted(types.items()))}


_KEYS: Final = "x-kubernetes-list-map-keys"


def _type(part: dict[str, Any]) -> str:
    """Return the name of a type: ``[X]`` is a list of X, and ``{X}`` is a mapping of text to X."""
    if "$ref" in part:
        name = part["$ref"].removeprefix(_REFERENCE)
        return _OWN_TYPES.get(name) or _short(name)
    kinds = part["type"] if isinstance(part["type"], list) else [part["type"]]
    (kind,) = (each for each in kinds if each != "null")
    if kind == "array":
        return f"[{_type(part['items'])}]"
    if kind == "object":
        return f"{{{_type(part['additionalProperties'])}}}" if "additionalProperties" in part else "object"
    return str(part["format"]) if kind == "integer" else str(kind)


def _references(part: dict[str, Any]) -> list[str]:
    inner = part.get("items") or part.get("additionalProperties") or part
    name = inner.get("$ref", "").removeprefix(_REFERENCE)
    return [name] if name and name not in _OWN_TYPES else []


def _short(name: str) -> str:
    return name.rpartition(".")[2]


if __name__ == "__main__":
    print(json.dumps(pod_types(Path(sys.argv[1])), indent=1))
