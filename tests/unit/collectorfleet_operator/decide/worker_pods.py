"""The number of worker pods that a RayCluster has to have, and the pods that it has to delete."""

from __future__ import annotations

from tests.unit.collectorfleet_operator.world import World

from collectorfleet_api import names
from collectorfleet_operator.children.group_sizes import GroupSize, sizes_of
from collectorfleet_operator.children.raycluster import RAYCLUSTER


def replicas(world: World) -> int:
    return _size(world).pods


def to_delete(world: World) -> list[str]:
    """Return the names of the pods that KubeRay has to delete."""
    return list(_size(world).to_delete)


def _size(world: World) -> GroupSize:
    return sizes_of(world.get(RAYCLUSTER))[names.WORKER_GROUP]
