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
# The formats for programs.
DATA: Final = (JSON, YAML)


def document(data: dict[str, Any], format_: str, *, is_one_of_many: bool = False) -> str:
    """Return ``data`` as JSON or YAML, without a line break at the end.

    If the document is one of many, YAML begins with the separator ``---``. JSON has no separator.
    """
    if format_ == JSON:
        return json.dumps(data, indent=2)
    return ("---\n" if is_one_of_many else "") + to_yaml(data).rstrip("\n")


def name_of(fleet: CollectorFleet) -> str:
    """Return the name that kubectl accepts for the fleet, such as ``collectorfleet.collectorfleet.dev/cartpole``."""
    return f"{names.KIND.lower()}.{names.GROUP}/{fleet.metadata.name}"
