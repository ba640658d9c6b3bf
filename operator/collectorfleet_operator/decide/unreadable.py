"""Deletes the objects of a fleet with an unreadable spec. The caller checks that no driver of the fleet runs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from collectorfleet_operator.children.table import COLLECTORS_CHILD, RAYCLUSTER_CHILD, WORKLOAD_CHILD, Child
from collectorfleet_operator.decide.actions import Delete
from collectorfleet_operator.decide.pod import Pod
from collectorfleet_operator.decide.upkeep import delete
from collectorfleet_operator.objects import Object, controller_uid, is_terminating, name_of, uid_of

_WHY: Final = "the fleet's spec cannot be read"


def free_resources(children: Mapping[Child, Object], pods: Sequence[Pod], fleet_uid: str) -> Iterator[Delete]:
    """Delete the RayCluster and the collectors' Job. Delete the Workload later, once the fleet has no pods."""
    own = {child: stored for child, stored in children.items() if controller_uid(stored) == fleet_uid}
    clusters = [child for child in (RAYCLUSTER_CHILD, COLLECTORS_CHILD) if child in own]
    for child in clusters or ([WORKLOAD_CHILD] if WORKLOAD_CHILD in own and not pods else []):
        if not is_terminating(own[child]):
            yield delete(child.kind, name_of(own[child]), uid_of(own[child]), _WHY)
