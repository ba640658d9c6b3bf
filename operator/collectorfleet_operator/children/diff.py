"""Whether the API server already has what a manifest asks for."""

from __future__ import annotations

from typing import Any, Final

from collectorfleet_operator.objects import Object

DIFFERS: Final = "it differs from the fleet"


def difference(stored: Object, desired: Object) -> str:
    """Return why ``desired`` has to be applied over ``stored``; empty if that would change nothing."""
    return "" if covers(stored, desired) else DIFFERS


def covers(stored: Any, desired: Any) -> bool:
    """True if applying ``desired`` would change nothing in ``stored``, which may hold more (defaults, status).

    Lists are compared item by item: where the API server merges them (owner references), it keeps our order.
    An empty object, list or null asks for nothing.
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
