"""Choose the collectors that end when a fleet shrinks. Pure.

Users may pass an object of their own class with the method ``leaving``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from collectorfleet.errors import UserCodeError


@dataclass(frozen=True)
class Placed:
    """A collector and its pod. The pod is None if the collector does not run."""

    name: str
    index: int
    pod: str | None


class ScalingPolicy(Protocol):
    """Chooses the collectors to end. If ``leaving`` raises or chooses wrongly, the run ends with a UserCodeError."""

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


def chosen(policy: ScalingPolicy, collectors: Sequence[Placed], count: int) -> list[str]:
    """Return the names of the ``count`` collectors that the policy chooses.

    Raises:
        UserCodeError: the policy raises an error, or it does not return ``count`` different names of ``collectors``.
    """
    known = {one.name for one in collectors}  # read before the call, because the policy may change the list
    try:
        names = list(policy.leaving(collectors, count))
        valid = known & {name for name in names if isinstance(name, str)}
        if not len(names) == len(valid) == count:
            raise ValueError(
                f"leaving() returned {len(names)} values, which name {len(valid)} of {len(known)} collectors; "
                f"return {count} different names"
            )
    except (Exception, SystemExit) as error:
        raise UserCodeError.of("scaling_policy", error) from error
    return names
