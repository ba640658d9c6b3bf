"""Choose the collectors that end when a fleet shrinks. Pure.

Users may pass an object of their own class with the method ``leaving``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Placed:
    """A collector and its pod. The pod is None if the collector does not run."""

    name: str
    index: int
    pod: str | None


class ScalingPolicy(Protocol):
    """The interface of a policy that chooses the collectors to end."""

    def leaving(self, collectors: Sequence[Placed], count: int) -> Sequence[str]:
        """Return the names of the ``count`` collectors to end."""
        ...


@dataclass(frozen=True)
class EmptyWholePods:
    """A policy that empties whole pods.

    Collectors that do not run end first, then the collectors of the pods with the fewest collectors. Among collectors
    of one pod, the collector with the highest index ends first, as in a StatefulSet. Among pods with equally many
    collectors, the pod of the collector with the highest index is emptied first.
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
    """A policy that ends the collectors with the highest indexes. A shrinking Indexed Job ends the same pods."""

    def leaving(self, collectors: Sequence[Placed], count: int) -> Sequence[str]:
        return [one.name for one in sorted(collectors, key=lambda one: -one.index)[:count]]
