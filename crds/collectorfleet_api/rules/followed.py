"""A fleet as its driver runs it: the spec that it was started with, and of the stored one what is followed live."""

from __future__ import annotations

from typing import Any, Final

from collectorfleet_api.rules.concerns import CONCERNS
from collectorfleet_api.rules.problem import Problem
from collectorfleet_api.rules.validation import read_stored
from collectorfleet_api.v1alpha1.fleet import CollectorFleet

# What no part of a running fleet is made from.
FOLLOWED: Final = tuple(path for path, parts in CONCERNS.items() if not parts)


def as_run(stored: dict[str, Any], started: dict[str, Any]) -> CollectorFleet | list[Problem]:
    """The fleet in ``stored``, an object of the API server, with the spec ``started`` and what is followed of its own.

    What no fleet can follow (no collectors at all) is not followed. The stored spec may be anything, one that cannot be
    read included.
    """
    found = read_stored({**stored, "spec": with_followed(started, stored.get("spec"))})
    return read_stored({**stored, "spec": started}) if isinstance(found, list) else found


def with_followed(started: dict[str, Any], stored: Any) -> dict[str, Any]:
    """The spec ``started`` with what is followed of the spec ``stored``."""
    followed = dict(started)
    for path in FOLLOWED:
        _follow(followed, stored, path)
    return followed


def _follow(spec: dict[str, Any], stored: Any, path: str) -> None:
    *parents, key = path.split(".")
    for parent in parents:
        # Of what is not ours to change, a copy.
        spec[parent] = dict(spec.get(parent) or {})
        spec = spec[parent]
        stored = (stored.get(parent) or {}) if isinstance(stored, dict) else None
    if not isinstance(stored, dict):
        return
    spec.pop(key, None)
    if stored.get(key) is not None:
        spec[key] = stored[key]
