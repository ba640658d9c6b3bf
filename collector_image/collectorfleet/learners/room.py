"""Ray's placement group of a shard, on one node. It has a bundle for the replay actor and a bundle for each policy.

Ray keeps the bundles together. If the node dies, Ray places all bundles on another node and restarts the actors there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import ray
from ray.util.placement_group import PlacementGroup, placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from collectorfleet.errors import InfrastructureError
from collectorfleet.learners.calls import Deadline
from collectorfleet_api.packing.shards import PodSize


class Room:
    """Resources of one node, which the constructor requests. :attr:`ready` resolves once Ray has reserved them."""

    def __init__(self, bundles: Sequence[dict[str, float]]) -> None:
        self._bundles = bundles
        self._group: PlacementGroup = placement_group(list(bundles), strategy="STRICT_PACK")

    @property
    def ready(self) -> Any:
        """The Ray object reference that resolves once the resources are reserved."""
        return self._group.ready()

    def start(self, actor_class: Any, bundle: int, max_restarts: int, *arguments: Any) -> Any:
        """Start an actor that takes all resources of the bundle. Return its handle at once."""
        resources = self._bundles[bundle]
        further = {name: amount for name, amount in resources.items() if name not in ("CPU", "GPU")}
        options = {
            "num_cpus": resources["CPU"],
            "num_gpus": resources.get("GPU", 0),
            "resources": further,
            "max_restarts": max_restarts,
            "scheduling_strategy": PlacementGroupSchedulingStrategy(self._group, placement_group_bundle_index=bundle),
        }
        return actor_class.options(**options).remote(*arguments)

    def end(self) -> None:
        """Free the resources. The actors that use these resources end at once."""
        remove_placement_group(self._group)


def wait_for_rooms(rooms: Sequence[Room], deadline: Deadline) -> None:
    """Block until all rooms have their resources. Raise InfrastructureError after the deadline."""
    waiting = [room.ready for room in rooms]
    placed, _ = ray.wait(waiting, num_returns=len(waiting), timeout=deadline.left)
    if len(placed) < len(waiting):
        raise InfrastructureError(
            f"learner shards: {len(placed)} of {len(waiting)} have room after {deadline.seconds:g} s; "
            "end other processes on the nodes, add a node, or request less"
        )


def end_rooms(rooms: Sequence[Room]) -> None:
    """End all rooms if Ray still runs."""
    if ray.is_initialized():
        for room in rooms:
            room.end()


def bundle(cpus: float, gpu: float, further: Mapping[str, float]) -> dict[str, float]:
    return {"CPU": cpus, **({"GPU": gpu} if gpu else {}), **further}


def nodes(having: Iterable[str]) -> list[PodSize]:
    """Return the total resources of each Ray node that has all resources in ``having``."""
    found = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    names = set(having)
    return [PodSize(Fraction(str(one.get("CPU", 0))), int(one.get("GPU", 0))) for one in found if names <= one.keys()]
