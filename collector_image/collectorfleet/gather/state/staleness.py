"""How much may be collected ahead so that no batch is ever older than the bound. Arithmetic only.

Staleness of a batch is the version when it is handed out minus the oldest version in it. Nothing is thrown away to
keep it within the bound: a batch is requested only if it will be handed out in time, given that the version advances
at most once for each batch handed out, and a batch is handed out only if the others still will be.

Worked: bound 1. The consumer trains and may publish once, so one batch of the present version may be under way: it is
handed out one version later. Once the consumer asks, it has published, so a second one may be sent for.
"""

from __future__ import annotations

from collections.abc import Iterable


def in_time(versions: Iterable[int], current: int, bound: int | None, *, asked: bool, together: int = 1) -> bool:
    """Whether everything can still be handed out within ``bound`` versions, the oldest first.

    Args:
        versions: oldest version of each piece under way or waiting.
        current: the published version.
        asked: the consumer waits, so nothing is published before the next batch is handed out.
        together: how many pieces make one batch.
    """
    if bound is None:
        return True
    first = current if asked else current + 1
    return all(first + place // together - version <= bound for place, version in enumerate(sorted(versions)))
