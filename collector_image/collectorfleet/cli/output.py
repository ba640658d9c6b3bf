"""The formats of ``-o``, as kubectl names them. Pure."""

from __future__ import annotations

import json
from typing import Any, Final

from collectorfleet_api import names
from collectorfleet_api.manifests.yaml_writer import to_yaml
from collectorfleet_api.v1alpha1 import CollectorFleet

JSON: Final = "json"
YAML: Final = "yaml"
NAME: Final = "name"
WIDE: Final = "wide"
FORMATS: Final = (JSON, YAML, NAME, WIDE)
# Those for programs.
DATA: Final = (JSON, YAML)


def document(data: dict[str, Any], format_: str, *, is_one_of_many: bool = False) -> str:
    """Return JSON or YAML without the line break at its end; YAML is separated from what comes before it."""
    if format_ == JSON:
        return json.dumps(data, indent=2)
    return ("---\n" if is_one_of_many else "") + to_yaml(data).rstrip("\n")


def name_of(fleet: CollectorFleet) -> str:
    """``collectorfleet.collectorfleet.dev/cartpole``, which kubectl takes for the fleet."""
    return f"{names.KIND.lower()}.{names.GROUP}/{fleet.metadata.name}"
