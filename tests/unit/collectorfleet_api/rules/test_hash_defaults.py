"""The values that hashes leave out: every default of the spec, as it was when its field was introduced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_origin

from collectorfleet_api.rules.hash_defaults import DEFAULTS
from collectorfleet_api.v1alpha1 import CollectorFleetSpec, Model
from collectorfleet_api.v1alpha1.base import inner_model


def test_every_default_of_the_spec_is_in_the_table() -> None:
    assert dict(defaults_of(CollectorFleetSpec)) == DEFAULTS


def defaults_of(model: type[Model], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, field in model.model_fields.items():
        path, inner = f"{prefix}{field.alias or name}", inner_model(field.annotation)
        if not field.is_required():
            default = field.get_default(call_default_factory=True)
            yield path, {} if isinstance(default, Model) else default
        if inner is not None:
            yield from defaults_of(inner, f"{path}[]." if get_origin(field.annotation) is list else f"{path}.")
