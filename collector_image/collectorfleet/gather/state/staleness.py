"""How much may be collected ahead so that no batch is ever older than the bound. Arithmetic only.

Staleness of a batch is the version when it is handed out minus the oldest version in it. No batch is thrown away to
keep it within the bound. A batch is requested only if it will be handed out in time. This assumes that the version
advances at most once for each batch handed out. A batch is handed out only if the others still can be.

Worked: bound 1. The consumer trains and may publish once, so one batch of the present version may be under way: it is
handed out one version later. Once the consumer asks, it has published, so a second one may be sent for.

What is under way is handed out the oldest first, ``together`` at a time, and the version is then ``first``,
``first + 1``, ...; so of those not newer than ``v`` there may be at most ``(v + bound + 1 - first) * together``. As
``v * together - count(v) >= (first - bound - 1) * together``, its left side knows neither bound nor time: its least
value over all ``v`` answers every question at once. A tree over the versions keeps it, at the cost of the logarithm of
how far the oldest is behind the newest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_NOTHING: Final = float("inf")
_ROOT: Final = 1
_LEAVES: Final = 64


class Window:
    """The versions of what is under way or waits, by how many there are of each; ``together`` make a batch.

    ``bound`` is in versions; None: everything is in time, and nothing is kept.
    """

    def __init__(self, together: int, bound: int | None) -> None:
        self._together = together
        self._bound = bound
        self._first = 0  # version of the first leaf
        self._plant(_LEAVES)

    def add(self, version: int) -> None:
        if self._bound is not None:
            self._change(version, 1)

    def remove(self, version: int) -> None:
        if self._bound is not None:
            self._change(version, -1)

    def in_time(self, first: int, *, also: int | None = None, without: Sequence[int] = ()) -> bool:
        """Whether all is handed out within the bound if the next batch is at version ``first``.

        Args:
            also: version of one more, the newest of all.
            without: versions of some that are not to be counted.
        """
        if self._bound is None:
            return True
        for version in without:
            self.remove(version)
        least = self._least[_ROOT]
        if also is not None:
            least = min(least, also * self._together - self._count[_ROOT] - 1)
        for version in without:
            self.add(version)
        return least >= (first - self._bound - 1) * self._together

    # ---------------------------------------------------------------- the tree
    def _plant(self, leaves: int) -> None:
        # The two below node n are 2n and 2n + 1. Of the versions below each: how many there are, and the least of
        # v * together - count(v), where those below other nodes do not count.
        self._leaves = leaves
        self._count = [0] * (2 * leaves)
        self._least: list[float] = [_NOTHING] * (2 * leaves)

    def _change(self, version: int, by: int) -> None:
        if not self._first <= version < self._first + self._leaves:
            self._make_room(version)
        counts, least = self._count, self._least
        node = self._leaves + version - self._first
        counts[node] += by
        least[node] = version * self._together - counts[node] if counts[node] else _NOTHING
        node //= 2
        while node:
            left, right = 2 * node, 2 * node + 1
            before = counts[left]
            counts[node] = before + counts[right]
            here, there = least[left], least[right] - before
            least[node] = here if here < there else there
            node //= 2

    def _make_room(self, version: int) -> None:
        """Plant the tree anew, so that ``version`` has a leaf and as many again follow it."""
        old = {self._first + leaf: count for leaf, count in enumerate(self._count[self._leaves :]) if count}
        self._first = min([version, *old])
        span = max([version, *old]) - self._first + 1
        self._plant(max(_LEAVES, 1 << (2 * span - 1).bit_length()))
        for one, count in old.items():
            self._change(one, count)
