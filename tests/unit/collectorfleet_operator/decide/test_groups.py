"""A fleet of two groups: each is scaled, rolled out and told about by itself."""

from __future__ import annotations

from typing import Any

from tests.unit.collectorfleet_operator.world import World, kinds, running, told

from collectorfleet_operator.children.group_sizes import GroupSize, sizes_of
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.decide.rolling import outdated_pods
from collectorfleet_operator.objects import label

SMALL: dict[str, Any] = {"name": "small", "replicas": 3}
BIG: dict[str, Any] = {"name": "big", "resources": {"gpu": 0.25}, "workers": {"collectorsPerPod": 2}}
GROUPS: dict[str, Any] = {"spec.collectors.groups": [SMALL, BIG]}
ROLLING = {"spec.updateStrategy": {"type": "RollingUpdate"}}


def counts(small: tuple[int, int], big: tuple[int, int]) -> dict[str, Any]:
    """The driver's numbers: available and desired of each group."""
    available, desired = small[0] + big[0], small[1] + big[1]
    rows = [{"name": name, "available": own[0], "desired": own[1]} for name, own in (("small", small), ("big", big))]
    found = {"available": available, "desired": desired, "summary": f"{available}/{desired}", "groups": rows}
    return {"batches": 3, "collectors": found}


def sizes(world: World) -> dict[str, GroupSize]:
    return sizes_of(world.get(RAYCLUSTER))


def pods_of(world: World, group: str) -> list[str]:
    return [pod.name for pod in world.seen().of_group(group)]


def test_each_group_goes_by_its_own_collectors() -> None:
    world = running({"spec.collectors.replicas": 8, **GROUPS})
    assert sizes(world) == {"big": GroupSize(1), "small": GroupSize(6)}
    world.edit({"spec.collectors.replicas": 4, **GROUPS})
    # One group is drained, the other is not yet.
    world.report(5, progress=counts(small=(3, 3), big=(2, 2)))
    world.carry_out()
    assert {name: size.pods for name, size in sizes(world).items()} == {"big": 1, "small": 3}
    assert set(sizes(world)["small"].to_delete) < set(pods_of(world, "small"))
    world.report(4, progress=counts(small=(3, 3), big=(1, 1)))
    assert len(sizes(world)["small"].to_delete) == 3


def test_pods_of_a_group_wait_for_its_own_collectors_to_leave() -> None:
    world = running({"spec.collectors.replicas": 8, **GROUPS})
    world.edit({"spec.collectors.replicas": 4, **GROUPS})
    world.report(7, progress=counts(small=(6, 3), big=(1, 1)))
    assert kinds(world.carry_out()) == []


def test_a_changed_template_of_one_group_replaces_its_pods_alone() -> None:
    world = running({**ROLLING, **GROUPS})
    slow = {**BIG, "workers": {**BIG["workers"], "template": {"spec": {"nodeSelector": {"disk": "slow"}}}}}
    world.edit({**ROLLING, "spec.collectors.groups": [SMALL, slow]})
    assert kinds(world.carry_out()) == ["Update Job", "Update RayCluster"]
    old = outdated_pods(world.seen())
    assert [pod.group for pod in old] == ["big"]
    orders = world.look(world.now).orders
    assert orders is not None
    assert orders.drain_pods == [pod.name for pod in old]


def test_the_status_has_the_pods_and_the_unused_gpus_of_each_group() -> None:
    world = running(GROUPS)
    cluster = world.look().ray_cluster
    assert cluster is not None
    assert [one.to_wire() for one in cluster.groups] == [
        {"name": "big", "workerPods": {"desired": 1, "ready": 1}, "gpuPerCollector": 0.25, "surplusGpu": 0.75},
        {"name": "small", "workerPods": {"desired": 3, "ready": 3}},
    ]
    assert cluster.surplus_gpu == 0.75
    plain = running().look().ray_cluster
    assert plain is not None
    assert plain.groups == []


def test_conditions_name_the_group_that_lacks_pods_or_collectors() -> None:
    world = running(GROUPS)
    (big,) = [pod for pod in world.pods("worker") if label(pod, "ray.io/group") == "big"]
    world.set_pod(big, phase="Running")
    world.report(3, progress=counts(small=(3, 3), big=(0, 1)))
    status = world.look()
    assert told(status, "RayClusterReady")[2] == "3 of 4 worker pods are ready (big 0 of 1)"
    assert told(status, "CollectorsAvailable")[2].startswith("3 of 4 collectors run acknowledged weights (big 0 of 1)")
    unschedulable = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/2 nodes are available: 2 Insufficient nvidia.com/gpu.",
    }
    world.set_pod(big, phase="Pending", conditions=[unschedulable])
    assert told(world.look(), "RayClusterReady") == (
        "False",
        "CollectorUnschedulable",
        f"1 of 1 worker pods of group big: the pod requests nvidia.com/gpu: 1; {unschedulable['message']}",
    )
