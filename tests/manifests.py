"""Make manifests for tests: a small valid fleet, in which a test changes the fields that it is about."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from collectorfleet_api.names import API_VERSION, KIND
from collectorfleet_api.rules.validation import read
from collectorfleet_api.v1alpha1 import CollectorFleet

ABSENT = object()


def manifest(changes: dict[str, Any] | None = None, name: str = "cheetah") -> dict[str, Any]:
    """Return the manifest of a fleet that trains, with ``changes``.

    ``changes`` maps paths to values: ``{"spec.collectors.replicas": 4, "spec.output": {...}}``. ``ABSENT`` removes a
    field.
    """
    fleet: dict[str, Any] = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": name},
        "spec": {
            "image": "ghcr.io/you/cheetah:1.0",
            "environment": {"factory": "my_envs:make_env"},
            "policy": {"factory": "my_policy:make_actor"},
            "driver": {"train": {"function": "my_train:train"}},
            "collection": {"mode": "Sync", "framesPerBatch": 4000},
            "collectors": {"replicas": 4},
        },
    }
    return changed(fleet, changes or {})


def changed(manifest: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Apply ``changes`` by path to ``manifest`` in place, and return it."""
    for path, value in changes.items():
        *parents, last = path.split(".")
        at = manifest
        for part in parents:
            at = at.setdefault(part, {})
        if value is ABSENT:
            at.pop(last, None)
        else:
            at[last] = deepcopy(value)  # a later change may change a field inside this value
    return manifest


def fleet(changes: dict[str, Any] | None = None, name: str = "cheetah") -> CollectorFleet:
    """Return :func:`manifest` as a parsed fleet."""
    return CollectorFleet.parse(manifest(changes, name))


def problems_of(changes: dict[str, Any]) -> list[str]:
    """Return the problems of :func:`manifest` with ``changes``, as sentences."""
    found = read(manifest(changes))
    return [] if isinstance(found, CollectorFleet) else [str(problem) for problem in found]
