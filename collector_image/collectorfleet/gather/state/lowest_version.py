"""Track the lowest of several changing versions, without a search through all versions."""

from __future__ import annotations

from heapq import heappop, heappush


class LowestVersion:
    """Tracks the lowest version in a multiset that changes."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self._heap: list[int] = []

    def add(self, version: int) -> None:
        if version not in self._counts:
            heappush(self._heap, version)
        self._counts[version] = self._counts.get(version, 0) + 1

    def remove(self, version: int | None) -> None:
        if version is None:
            return
        left = self._counts[version] - 1
        if left:
            self._counts[version] = left
        else:
            del self._counts[version]

    @property
    def lowest(self) -> int | None:
        while self._heap and self._heap[0] not in self._counts:
            heappop(self._heap)
        return self._heap[0] if self._heap else None
