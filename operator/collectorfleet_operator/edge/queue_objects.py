"""Kueue's cluster-scoped objects that a fleet with a queue refers to, read by name and cached for a minute.

A cluster has few such objects, and they change seldom. A watch would need the right to list all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.workload import FLAVOR, PRIORITY_CLASS, priority_class_of
from collectorfleet_operator.decide.workload import Workload
from collectorfleet_operator.edge.client import Kube
from collectorfleet_operator.objects import Kind, Object

_SECONDS: Final = 60.0


class QueueObjects:
    """Reads ResourceFlavors and WorkloadPriorityClasses. Every method may raise a KubeError."""

    def __init__(self, kube: Kube, clock: Callable[[], float]) -> None:
        self._kube = kube
        self._clock = clock
        self._found: dict[tuple[Kind, str], tuple[float, Object]] = {}

    async def flavors(self, workload: Workload | None) -> dict[str, Object]:
        """Return by name the existing ResourceFlavors that Kueue assigned to the Workload."""
        names = sorted(workload.flavors) if workload is not None else []
        found = {name: await self._find(FLAVOR, name) for name in names}
        return {name: flavor for name, flavor in found.items() if flavor is not None}

    async def priority_class(self, fleet: CollectorFleet) -> Object | None:
        """Return the fleet's WorkloadPriorityClass, or None if the fleet names no class or the class is missing."""
        name = priority_class_of(fleet)
        return await self._find(PRIORITY_CLASS, name) if name else None

    async def _find(self, kind: Kind, name: str) -> Object | None:
        now = self._clock()
        recent = self._found.get((kind, name))
        if recent is not None and now - recent[0] < _SECONDS:
            return recent[1]
        found = await self._kube.find(kind, "", name)
        if found is not None:
            self._found[kind, name] = (now, found)
        return found
