"""How much may be collected ahead so that no batch is ever older than the bound. Arithmetic only.

Staleness of a batch is the version when it is handed out minus the oldest version in it. Nothing is thrown away to
keep it within the bound: a batch is requested only if it will be handed out in time, given that the version advances
at most once for each batch handed out, and a batch is handed out only if the others still will be.

Worked: bound 1. The consumer trains and may publish once, so one batch of the present version may be under way: it is
handed out one version later. Once the consumer asks, it has published, so a second one may be sent for.

What is under way is handed out the oldest first, ``together`` at a time, and the version is then ``first``, ``first +
1``, ...; so of those not newer than ``v`` there may be at most ``(v + bound + 1 - first) * together``.
"""

from __future__ import annotations

from collections.abc import Sequence


class Window:
    """The versions of what is under way or waits, by how many there are of each.

    The questions look at each version that can be late, not at each admission: there are at most ``bound + 1``.
    """

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self._size = 0

    def add(self, version: int) -> None:
        self._counts[version] = self._counts.get(version, 0) + 1
        self._size += 1

    def remove(self, version: int) -> None:
        left = self._counts[version] - 1
        if left:
            self._counts[version] = left
        else:
            del self._counts[version]
        self._size -= 1

    def in_time(
        self,
        first: int,
        bound: int | None,
        together: int = 1,
        *,
        also: int | None = None,
        without: Sequence[int] = (),
    ) -> bool:
        """Whether all is handed out within ``bound`` versions if the next batch is at version ``first``.

        Args:
            also: version of one more, the newest of all.
            without: versions of some that are not to be counted, in ascending order.
        """
        if bound is None:
            return True
        size = self._size + (also is not None) - len(without)
        # Of newer versions than these there may be more than there are at all.
        harmless = first - bound - 1 + size / together
        count = gone = 0
        for version in sorted(self._counts):
            if version >= harmless:
                break
            of_this = self._counts[version]
            while gone < len(without) and without[gone] <= version:
                gone += 1
                of_this -= 1
            count += of_this
            if of_this and count > (version + bound + 1 - first) * together:
                return False
        return also is None or size <= (also + bound + 1 - first) * together
