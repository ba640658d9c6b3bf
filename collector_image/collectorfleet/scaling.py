"""Which collectors leave when a fleet shrinks. Pure; users pass their own with the same method."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Placed:
    """A collector and the pod that it runs in; None: it does not run."""

    name: str
    index: int
    pod: str | None


class ScalingPolicy(Protocol):
    def leaving(self, collectors: Sequence[Placed], count: int) -> Sequence[str]:
        """Names of ``count`` of the collectors."""
        ...


@dataclass(frozen=True)
class EmptyWholePods:
    """Collectors that do not run go first, then those of the pods with the fewest, so that whole pods become empty.

    Among equals the highest index goes, as with any replicated workload.
    """

    def leaving(self, collectors: Sequence[Placed], count: int) -> Sequence[str]:
        by_pod: defaultdict[str | None, list[Placed]] = defaultdict(list)
        for collector in collectors:
            by_pod[collector.pod].append(collector)
        order = sorted(
            by_pod.items(), key=lambda item: (item[0] is not None, len(item[1]), -max(c.index for c in item[1]))
        )
        names = [c.name for _, pod in order for c in sorted(pod, key=lambda c: -c.index)]
        return names[:count]


@dataclass(frozen=True)
class HighestIndexes:
    """The last collectors go: those of the pods that an Indexed Job gives up when it has fewer."""

    def leaving(self, collectors: Sequence[Placed], count: int) -> Sequence[str]:
        return [one.name for one in sorted(collectors, key=lambda one: -one.index)[:count]]
