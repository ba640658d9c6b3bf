"""Prints the hashes of stored specs as a release with other defaults computes them; a process of its own.

Standard input is a JSON list of specs with every default written out, as the API server stores them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from enum import Enum
from typing import Any

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import CollectorFleet, Model
from collectorfleet_api.v1alpha1.base import inner_model
from collectorfleet_operator.children.hashes import hashes_of


def models(model: type[Model]) -> Iterator[type[Model]]:
    """The model and all models in it, the innermost first."""
    for field in model.model_fields.values():
        inner = inner_model(field.annotation)
        if inner is not None:
            yield from models(inner)
    yield model


def another(default: Any) -> Any:
    """Another default of the same type; None where there is none."""
    match default:
        case bool():
            return not default
        case Enum():
            return next((one for one in type(default) if one is not default), None)
        case int() | float():
            return default + 1
        case str():
            return {"2Gi": "3Gi", "2.60.0": "2.61.0"}.get(default)
    return None


def change_defaults() -> int:
    """Returns how many were changed."""
    changed = 0
    every = list(dict.fromkeys(models(CollectorFleet)))
    for model in every:
        for field in model.model_fields.values():
            other = another(field.default)
            if other is not None:
                field.default = other
                changed += 1
    for model in every:
        model.model_rebuild(force=True)
    return changed


def main() -> None:
    changed = change_defaults()
    metadata = {"name": "cheetah", "namespace": "default", "uid": "1", "generation": 1}
    identity = {"apiVersion": names.API_VERSION, "kind": names.KIND, "metadata": metadata}
    fleets = [CollectorFleet.parse_stored({**identity, "spec": spec}) for spec in json.load(sys.stdin)]
    json.dump([changed, [hashes_of(fleet.spec) for fleet in fleets]], sys.stdout)


if __name__ == "__main__":
    main()
