"""The types of a pod's fields, from Kubernetes' own schema. ``schema.pod_types`` writes the file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

POD_SPEC: Final = "PodSpec"
# Fields that Kubernetes' schema requires, but the API server does not.
_OPTIONAL: Final = {"HTTPHeader": "value", "SleepAction": "seconds", "Sysctl": "value"}


@dataclass(frozen=True)
class Type:
    """The fields of a type. ``fields`` maps names to types.

    ``[X]`` is a list of X, and ``{X}`` is a mapping of text to X. ``keys`` maps the name of a list to the fields that
    identify the items of the list.
    """

    fields: dict[str, str]
    required: list[str]
    keys: dict[str, list[str]]


@dataclass(frozen=True)
class Types:
    kubernetes: str  # the version
    by_name: dict[str, Type]


@cache
def pod_types() -> Types:
    """Return the types of a pod's fields."""
    found = json.loads((files(__package__) / "types.json").read_text(encoding="utf-8"))
    types = {name: Type(**type_) for name, type_ in found["types"].items()}
    for name, field in _OPTIONAL.items():
        types[name].required.remove(field)
    return Types(found["kubernetes"], types)
