"""Which group each collector of a fleet is of: the same for operator and driver, whatever the number of collectors.

Groups of 4 and 2 take turns: fast, big, fast, and so on. So 6 collectors are 4 and 2, and 7 are 5 and 2. One more
collector joins one group and takes none from another, so the collector ``c2`` is in the same group at every size.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from heapq import heapify, heapreplace


def turns(parts: Mapping[str, int]) -> tuple[str, ...]:
    """The groups in turn, each as often as its part says, in lowest terms; collectors beyond it begin it anew.

    Each group has one before any has two, the largest first, and then whoever is furthest below its part (the divisor
    method of Sainte-Laguë). Empty without groups.
    """
    return _turns(tuple(parts.items()))


def split(total: int, parts: Mapping[str, int]) -> dict[str, int]:
    """How many of ``total`` collectors each group has, in the order of ``parts``.

    Exactly in proportion where that can be, as at the sum of ``parts``. Fewer collectors than groups are one each for
    the largest.
    """
    found = counted(total, turns(parts))
    return {name: found[name] for name in parts}


def counted(total: int, row: Sequence[str]) -> dict[str, int]:
    """How many of ``total`` collectors each group has that takes turns in ``row``."""
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
    # By how many of them there would be for each of their part, with half of the next one.
    line = [((2 + 1) / (2 * wanted[index]), index, 1) for index in range(len(parts))]
    heapify(line)
    order = list(first)
    while len(order) < sum(wanted):
        _, index, has = line[0]
        order.append(index)
        heapreplace(line, ((2 * (has + 1) + 1) / (2 * wanted[index]), index, has + 1))
    return tuple(parts[index][0] for index in order)
