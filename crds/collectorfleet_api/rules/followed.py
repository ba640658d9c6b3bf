"""The spec that a driver runs: the spec at the driver's start, except for fields that apply to a running fleet.

These fields have their stored values.
"""

from __future__ import annotations

from typing import Any, Final

from collectorfleet_api.rules.concerns import AFFECTED_PARTS
from collectorfleet_api.rules.problem import Problem
from collectorfleet_api.rules.validation import read_stored
from collectorfleet_api.v1alpha1.fleet import CollectorFleet

# Fields that affect no part of a running fleet. Changes of these fields apply at once.
LIVE_FIELDS: Final = tuple(path for path, parts in AFFECTED_PARTS.items() if not parts)


def as_run(stored: dict[str, Any], started: dict[str, Any]) -> CollectorFleet | list[Problem]:
    """Return a copy of the fleet ``stored`` that has the spec ``started``.

    Fields that apply to a running fleet have their stored values. ``stored`` is an object of the API server, and its
    spec may be invalid. If the combined spec is invalid, for example because it has no collectors, return the fleet
    with exactly the spec ``started``.
    """
    found = read_stored({**stored, "spec": with_live_fields(started, stored.get("spec"))})
    return read_stored({**stored, "spec": started}) if isinstance(found, list) else found


def with_live_fields(started: dict[str, Any], stored: Any) -> dict[str, Any]:
    """Return the spec ``started`` with the fields of the spec ``stored`` that apply to a running fleet."""
    followed = dict(started)
    for path in LIVE_FIELDS:
        _follow(followed, stored, path)
    return followed


def _follow(spec: dict[str, Any], stored: Any, path: str) -> None:
    *parents, key = path.split(".")
    for parent in parents:
        # Copy the mapping, because it belongs to the caller.
        spec[parent] = dict(spec.get(parent) or {})
        spec = spec[parent]
        stored = (stored.get(parent) or {}) if isinstance(stored, dict) else None
    if not isinstance(stored, dict):
        return
    spec.pop(key, None)
    if stored.get(key) is not None:
        spec[key] = stored[key]
