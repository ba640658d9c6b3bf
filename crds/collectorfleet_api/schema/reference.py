"""Writes the reference page from the CRD: ``python -m collectorfleet_api.schema.reference > docs/reference.md``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from collectorfleet_api.names import API_VERSION, KIND
from collectorfleet_api.rules.cel import RULES
from collectorfleet_api.rules.concerns import AFFECTED_PARTS, Part
from collectorfleet_api.schema.crd import COLUMNS, schema
from collectorfleet_api.v1alpha1.base import Model
from collectorfleet_api.v1alpha1.report import DriverReport
from collectorfleet_api.v1alpha1.status import OperatorStatus

Schema = dict[str, Any]

_INTRODUCTION = f"""\
<!-- Written from the models by `make generate`; change those. -->
# Reference: {KIND} ({API_VERSION})

This page lists every field. `kubectl explain cfleet.spec` shows the same. You may leave out a field that is not marked
as required. Quantities are those of Kubernetes: `2`, `0.5`, `500m`, `2Gi`.
"""
_CHANGES = """
## What a change does to a fleet that runs

If a fleet has delivered no batch yet, or has failed, the operator applies a changed spec at once. Otherwise
`spec.updateStrategy.type` decides:

* `OnDelete`: the operator applies the change once you delete the driver's Job. The fleet has `UpToDate=False,
  reason=RestartNeeded`, and the message has the command. `Ready` and `Reconciling` ignore the change, so a deployment
  tool does not wait.
* `RollingUpdate`: the operator applies the change as the table shows. The fleet has `UpToDate=False, reason=Updating`
  meanwhile. If the next driver could not resume, the operator holds the change back as with `OnDelete`, with
  `reason=CheckpointNeeded`. This is the case without `driver.checkpoint`, with another claim, or if a checkpoint
  cannot be written. A fleet without `driver.train` continues after the frames of its output.

The operator does not apply a changed spec to a completed fleet, and the status says so.

| changed | RollingUpdate |
|---|---|
"""
_SECTIONS = {
    "spec": ("You write these fields.", None),
    "status, by the operator": (
        "The operator writes these fields. Its field manager is `collectorfleet-operator`.",
        OperatorStatus,
    ),
    "status, by the driver": (
        "The driver writes these fields. Its field manager is `collectorfleet-driver`. Unknown fields are absent.",
        DriverReport,
    ),
}


def page() -> str:
    """Return the text of ``docs/reference.md``."""
    properties = schema()["properties"]
    parts = [_INTRODUCTION]
    for title, (text, model) in _SECTIONS.items():
        parts.append(f"\n## {title}\n\n{text}\n\n| field | type | default | meaning |\n|---|---|---|---|\n")
        root = title.split(",")[0]
        parts += [_row(*row) for row in _fields(_part(properties[root], model), root)]
    parts.append(
        "\n## What is refused\n\nThe API server refuses these values. `collectorfleet validate` does so offline:\n\n"
    )
    parts += [
        f"* `{path}{rule.field or ''}`: {rule.message}\n" if path else f"* {rule.message}\n"
        for path, rules in RULES.items()
        for rule in rules
    ]
    parts.append(_changes())
    parts.append("\n## Columns of `kubectl get cfleet`\n\n| column | from | |\n|---|---|---|\n")
    for name, _, path, wide in COLUMNS:
        parts.append(f"| {name.upper()} | `{path}` | {'with `-o wide`' if wide else ''} |\n")
    return "".join(parts)


def _changes() -> str:
    """Return the section about changed fields, from the table of the parts that each field affects."""
    said: dict[str, list[str]] = {}
    for path, concerned in AFFECTED_PARTS.items():
        said.setdefault(_what_happens(concerned), []).append(f"`{path}`")
    rows = "".join(f"| {', '.join(paths)} | {what} |\n" for what, paths in sorted(said.items()))
    return f"{_CHANGES}{rows}"


def _what_happens(concerned: frozenset[Part]) -> str:
    if not concerned:
        return "applied while the fleet runs, with both strategies"
    evaluators = "evaluator pods are replaced at once; the driver continues, and repeats the evaluation"
    workers = "workers are drained and replaced, `rollingUpdate.maxUnavailable` pods of a group at a time"
    if concerned == {Part.EVALUATORS}:
        return evaluators
    if not concerned & {Part.DRIVER, Part.HEAD}:
        return f"{workers}; evaluator pods are replaced at once"
    driver = "the driver ends after a batch, and the next driver resumes from its checkpoint"
    return f"{driver}, on the same RayCluster" if concerned == {Part.DRIVER} else f"{driver}, on a new RayCluster"


def main() -> None:
    """Print the page."""
    sys.stdout.write(page())


def _part(node: Schema, model: type[Model] | None) -> Schema:
    """Return ``node`` with only the fields that ``model`` has. Without a model, return ``node`` unchanged."""
    if model is None:
        return node
    names = {field.alias for field in model.model_fields.values()}
    return node | {"properties": {name: inner for name, inner in node["properties"].items() if name in names}}


def _fields(node: Schema, path: str) -> Iterator[tuple[str, Schema, bool]]:
    """Yield every field below ``node`` with its path, and whether its parent requires it."""
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
    if node.get("x-kubernetes-int-or-string"):
        return "integer or percentage"
    if "type" not in node:
        return "quantity"
    name = str({"object": "mapping", "array": "list"}.get(node["type"], node["type"]))
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
