"""Whether the API server already has what a manifest asks for."""

from __future__ import annotations

from typing import Any, Final

from collectorfleet_operator.objects import Object

DIFFERS: Final = "it differs from the fleet"


def difference(stored: Object, asked: Object) -> str:
    """Why ``asked`` is to be applied over ``stored``; empty if that would change nothing."""
    return "" if covers(stored, asked) else DIFFERS


def covers(stored: Any, asked: Any) -> bool:
    """True if applying ``asked`` would change nothing in ``stored``, which may hold more (defaults, status).

    Lists are compared item by item: where the API server merges them (owner references), it keeps our order.
    An empty object, list or null asks for nothing.
    """
    if asked is None or asked in ({}, []) or stored == asked:
        return True
    if isinstance(asked, dict):
        return isinstance(stored, dict) and all(covers(stored.get(key), value) for key, value in asked.items())
    if isinstance(asked, list):
        return (
            isinstance(stored, list)
            and len(stored) == len(asked)
            and all(covers(have, want) for have, want in zip(stored, asked, strict=True))
        )
    return bool(stored == asked)
