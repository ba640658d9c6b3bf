"""Comparison of a stored object with a manifest."""

from __future__ import annotations

from typing import Any, Final

from collectorfleet_operator.objects import Object

DIFFERS: Final = "it differs from the fleet"


def difference(stored: Object, desired: Object) -> str:
    """Return why ``desired`` must be applied over ``stored``, or an empty text if applying it would change nothing."""
    return "" if covers(stored, desired) else DIFFERS


def covers(stored: Any, desired: Any) -> bool:
    """Return whether applying ``desired`` would change nothing in ``stored``.

    ``stored`` may have further fields, such as defaults and the status. Lists are compared item by item: the API server
    does not change the operator's order, even in lists that it merges, such as owner references. An empty object, list
    or null in ``desired`` matches everything.
    """
    if desired is None or desired in ({}, []) or stored == desired:
        return True
    if isinstance(desired, dict):
        return isinstance(stored, dict) and all(covers(stored.get(key), value) for key, value in desired.items())
    if isinstance(desired, list):
        return (
            isinstance(stored, list)
            and len(stored) == len(desired)
            and all(covers(have, want) for have, want in zip(stored, desired, strict=True))
        )
    return bool(stored == desired)
