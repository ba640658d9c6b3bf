"""Computes the group of each collector. Operator and driver get the same result for every number of collectors.

For example, the groups ``fast`` with 4 collectors and ``big`` with 2 take turns: fast, big, fast, and so on. Of 6
collectors, 4 are in ``fast`` and 2 in ``big``. Of 7 collectors, 5 are in ``fast`` and 2 in ``big``. An additional
collector moves no other collector to another group, so ``c2`` is in the same group at every size.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from heapq import heapify, heapreplace


def turns(parts: Mapping[str, int]) -> tuple[str, ...]:
    """Return the sequence of groups for successive collectors, or an empty tuple without groups.

    The sequence repeats if there are more collectors. The parts are reduced to lowest terms. The reduced part of a
    group is the number of times that the group appears. First, each group appears once, the largest first. After that,
    the next group is always the group that is furthest below its part (the divisor method of Sainte-Laguë).
    """
    return _turns(tuple(parts.items()))


def split(total: int, parts: Mapping[str, int]) -> dict[str, int]:
    """Return how many of ``total`` collectors each group has, in the order of ``parts``.

    If possible, the numbers are exactly in proportion, for example if ``total`` is the sum of ``parts``. If there are
    fewer collectors than groups, the largest groups have one collector each.
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
    # The next group is the group with the smallest (collectors + 1/2) / part.
    line = [((2 + 1) / (2 * wanted[index]), index, 1) for index in range(len(parts))]
    heapify(line)
    order = list(first)
    while len(order) < sum(wanted):
        _, index, has = line[0]
        order.append(index)
        heapreplace(line, ((2 * (has + 1) + 1) / (2 * wanted[index]), index, has + 1))
    return tuple(parts[index][0] for index in order)
