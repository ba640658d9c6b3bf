"""Computes the group of each collector. Operator and driver get the same result for every number of collectors.

Groups of 4 and 2 take turns: fast, big, fast, and so on. So 6 collectors are 4 and 2, and 7 are 5 and 2. An additional
collector moves no other collector, so the collector ``c2`` is in the same group at every size.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from heapq import heapify, heapreplace


def turns(parts: Mapping[str, int]) -> tuple[str, ...]:
    """Return the sequence of groups for successive collectors; more collectors repeat it. Empty without groups.

    Each group appears as often as its part, in lowest terms. First, each group appears once, the largest first. Then
    the group furthest below its part is next (the divisor method of Sainte-Laguë).
    """
    return _turns(tuple(parts.items()))


def split(total: int, parts: Mapping[str, int]) -> dict[str, int]:
    """Return how many of ``total`` collectors each group has, in the order of ``parts``.

    The numbers are exactly in proportion if that is possible, as for the sum of ``parts``. If there are fewer
    collectors than groups, the largest groups have one collector each.
    """
    found = counted(total, turns(parts))
    return {name: found[name] for name in parts}


def counted(total: int, row: Sequence[str]) -> dict[str, int]:
    """Return how many of ``total`` collectors each group has if the groups take turns in the order of ``row``."""
    if not row:
        return {}
    rounds, rest = divmod(total, len(row))
    whole, begun = Counter(row), Counter(row[:rest])
    return {name: rounds * whole[name] + begun[name] for name in whole}


@functools.lru_cache(maxsize=256)
def _turns(parts: tuple[tuple[str, int], ...]) -> tuple[str, ...]:
    if not parts:
        return ()
    divisor = math.gcd(*(part for _, part in parts))
    wanted = [part // divisor for _, part in parts]
    first = sorted(range(len(parts)), key=lambda index: -wanted[index])
    # Order groups by the ratio of their collectors, plus half of the next collector, to their part.
    line = [((2 + 1) / (2 * wanted[index]), index, 1) for index in range(len(parts))]
    heapify(line)
    order = list(first)
    while len(order) < sum(wanted):
        _, index, has = line[0]
        order.append(index)
        heapreplace(line, ((2 * (has + 1) + 1) / (2 * wanted[index]), index, has + 1))
    return tuple(parts[index][0] for index in order)
