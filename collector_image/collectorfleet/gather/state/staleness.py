"""Decide how many batches may be collected in advance, so that no batch exceeds the staleness bound. Arithmetic only.

When a batch is handed out, its staleness is the present version minus the oldest version in the batch. A batch is *in
time* if its staleness is within the bound. The gather never discards a batch because of the bound. The gather requests
a batch only if the batch can be handed out in time. This works because at most one version is published for each batch
that is handed out. A batch is handed out only if all other batches can still be handed out in time.

An example with bound 1: the consumer trains, and may publish once before the next batch. So the gather may request one
batch with the present version. This batch is handed out one version later. When the consumer requests the next batch,
it has already published. So the gather may then request a second batch.

The oldest open items are handed out first, ``together`` items at a time. The next batch is handed out at the version
``first``, the batch after it at ``first + 1``, and so on. So at most ``(v + bound + 1 - first) * together`` items may
have a version up to ``v``. Let ``count(v)`` be the number of items with a version up to ``v``. Then the condition is
``v * together - count(v) >= (first - bound - 1) * together`` for all ``v``. The left side depends neither on the bound
nor on ``first``. So every query only needs the minimum of the left side over all ``v``. A tree over the versions stores
this minimum. The cost of an update grows with the logarithm of the distance between the oldest and the newest version.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_NOTHING: Final = float("inf")
_ROOT: Final = 1
_LEAVES: Final = 64


class Window:
    """The number of items for each version. An item is an admission that is not handed out.

    A batch has ``together`` items. ``bound`` is the staleness bound in versions. None: there is no limit, and items are
    not counted.
    """

    def __init__(self, together: int, bound: int | None) -> None:
        self._together = together
        self._bound = bound
        self._first = 0  # the version of the first leaf
        self._build_tree(_LEAVES)

    def add(self, version: int) -> None:
        if self._bound is not None:
            self._change(version, 1)

    def remove(self, version: int) -> None:
        if self._bound is not None:
            self._change(version, -1)

    def in_time(self, first: int, *, also: int | None = None, without: Sequence[int] = ()) -> bool:
        """Return whether all items stay within the bound if the next batch is handed out at version ``first``.

        Args:
            also: the version of one additional item. No item may have a newer version.
            without: the versions of items that do not count.
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
    def _build_tree(self, leaves: int) -> None:
        # The children of node n are 2n and 2n + 1. Each node has the number of items below it, and the minimum of
        # v * together - count(v). Here count(v) includes only items below this node.
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
        """Rebuild the tree so that ``version`` has a leaf. Add room for at least as many later versions."""
        old = {self._first + leaf: count for leaf, count in enumerate(self._count[self._leaves :]) if count}
        self._first = min([version, *old])
        span = max([version, *old]) - self._first + 1
        self._build_tree(max(_LEAVES, 1 << (2 * span - 1).bit_length()))
        for one, count in old.items():
            self._change(one, count)
