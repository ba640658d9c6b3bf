"""How much may be collected ahead so that no batch is ever older than the bound. Arithmetic only.

Staleness of a batch is the version when it is handed out minus the oldest version in it. Nothing is thrown away to
keep it within the bound: a batch is requested only if it will be handed out in time, given that the version advances
at most once for each batch handed out, and a batch is handed out only if the others still will be.

Worked: bound 1. The consumer trains and may publish once, so one batch of the present version may be under way: it is
handed out one version later. Once the consumer asks, it has published, so a second one may be sent for.

What is under way is handed out the oldest first, ``together`` at a time, and the version is then ``first``,
``first + 1``, ...; so of those not newer than ``v`` there may be at most ``(v + bound + 1 - first) * together``. As
``v * together - count(v) >= (first - bound - 1) * together``, its left side knows neither bound nor time: its least
value over all ``v`` is kept, and answers most questions at once.
"""

from __future__ import annotations

from collections.abc import Sequence


class Window:
    """The versions of what is under way or waits, by how many there are of each; ``together`` make a batch."""

    def __init__(self, together: int = 1) -> None:
        self._together = together
        self._counts: dict[int, int] = {}
        self._size = 0
        self._newest = 0
        self._least: float | None = float("inf")  # of v * together - count(v); None: to be looked for again

    def add(self, version: int) -> None:
        self._counts[version] = self._counts.get(version, 0) + 1
        self._size += 1
        if version < self._newest:
            self._least = None
        elif self._least is not None:
            self._least = min(self._least, version * self._together - self._size)
        self._newest = max(self._newest, version)

    def remove(self, version: int) -> None:
        left = self._counts[version] - 1
        if left:
            self._counts[version] = left
        else:
            del self._counts[version]
        self._size -= 1
        self._least = None if self._size else float("inf")

    def in_time(
        self, first: int, bound: int | None, *, also: int | None = None, without: Sequence[int] | None = None
    ) -> bool:
        """Whether all is handed out within ``bound`` versions if the next batch is at version ``first``.

        Args:
            also: version of one more, the newest of all.
            without: versions of some that are not to be counted, in ascending order.
        """
        if bound is None:
            return True
        least = self._least_now() if without is None else self._least_without(without)
        if also is not None:
            least = min(least, also * self._together - self._size - 1)
        return least >= (first - bound - 1) * self._together

    def _least_now(self) -> float:
        if self._least is None:
            self._least = self._least_without(())
        return self._least

    def _least_without(self, without: Sequence[int]) -> float:
        least, count, gone = float("inf"), 0, 0
        for version in sorted(self._counts):
            of_this = self._counts[version]
            while gone < len(without) and without[gone] <= version:
                gone += 1
                of_this -= 1
            count += of_this
            if of_this:
                least = min(least, version * self._together - count)
        return least
