"""Writes the reference page from the CRD's schema: ``python -m collectorfleet_api.docs > docs/reference.md``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from collectorfleet_api.crd import COLUMNS, schema
from collectorfleet_api.crd_rules import RULES
from collectorfleet_api.names import API_VERSION, KIND

Schema = dict[str, Any]

_INTRODUCTION = f"""\
<!-- Written from the models by `make generate`; change those. -->
# Reference: {KIND} ({API_VERSION})

Every field, as the API server knows it; `kubectl explain cfleet.spec` shows the same. A field without a default and without
"required" may be left out. Quantities are those of Kubernetes: `2`, `0.5`, `500m`, `2Gi`.
"""


def page() -> str:
    """The text of ``docs/reference.md``."""
    properties = schema()["properties"]
    parts = [_INTRODUCTION]
    for section in ("spec", "status"):
        parts.append(f"\n## {section}\n\n{properties[section]['description']}\n\n")
        parts.append("| field | type | default | what it is |\n|---|---|---|---|\n")
        parts += [_row(*row) for row in _fields(properties[section], section)]
    parts.append("\n## What is refused\n\nBy the API server, and offline by `collectorfleet validate`:\n\n")
    parts += [f"* `{path or 'metadata'}`: {rule.message}\n" for path, rules in RULES.items() for rule in rules]
    parts.append("\n## Columns of `kubectl get cfleet`\n\n| column | from | |\n|---|---|---|\n")
    for name, _, path, wide in COLUMNS:
        parts.append(f"| {name.upper()} | `{path}` | {'with `-o wide`' if wide else ''} |\n")
    return "".join(parts)


def main() -> None:
    """Print the page."""
    sys.stdout.write(page())


def _fields(node: Schema, path: str) -> Iterator[tuple[str, Schema, bool]]:
    """Every field below ``node`` with its path and whether it is required where its parent is given."""
    for name, inner in node.get("properties", {}).items():
        here = f"{path}.{name}"
        if inner.get("type") == "array":
            here += "[]"
        yield here, inner, name in node.get("required", [])
        if _is_pod_template(inner):
            continue
        yield from _fields(inner.get("items", inner), here)


def _is_pod_template(node: Schema) -> bool:
    return set(node.get("properties", {})) == {"metadata", "spec"}


def _row(path: str, node: Schema, required: bool) -> str:
    default = "required" if required else f"`{json.dumps(node['default'])}`" if node.get("default", {}) != {} else ""
    description = node["description"].replace("|", "\\|")
    return f"| `{path}` | {_type(node)} | {default} | {description} |\n"


def _type(node: Schema) -> str:
    if _is_pod_template(node):
        return "pod template"
    if "enum" in node:
        return " or ".join(f"`{choice}`" for choice in node["enum"])
    if "type" not in node:
        return "quantity"
    name = {"object": "mapping", "array": "list"}.get(node["type"], node["type"])
    if node.get("format") == "date-time":
        name = "time"
    return name + _range(node)


def _range(node: Schema) -> str:
    least, most = node.get("minimum"), node.get("maximum")
    if least is not None and most is not None:
        return f", {least} to {most}"
    return f", at least {least}" if least is not None else ""


if __name__ == "__main__":
    main()
