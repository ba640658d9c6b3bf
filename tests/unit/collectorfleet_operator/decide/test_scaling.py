"""Worker pods follow the replicas of a fleet, and those that go are named."""

from __future__ import annotations

from typing import Any

from tests.unit.collectorfleet_operator.decide.worker_pods import replicas, to_delete
from tests.unit.collectorfleet_operator.world import World, kinds, running, started

from collectorfleet_api import names
from collectorfleet_operator.children.group_sizes import GroupSize, resized, sizes_of, worker_groups
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.decide.raycluster import read_raycluster
from collectorfleet_operator.decide.scaling import sized
from collectorfleet_operator.objects import Object, name_of


def test_growing_asks_for_more_pods_at_once() -> None:
    world = running({"spec.collectors.replicas": 2})
    world.edit({"spec.collectors.replicas": 5})
    assert kinds(world.carry_out()) == ["Update RayCluster"]
    assert replicas(world) == 5
    assert world.carry_out() == ()


def test_pods_stay_until_the_driver_has_retired_collectors() -> None:
    world = running({"spec.collectors.replicas": 4})
    world.edit({"spec.collectors.replicas": 2})
    assert world.carry_out() == ()
    world.report(2, desired=2)
    assert kinds(world.carry_out()) == ["Update RayCluster"]
    assert replicas(world) == 2


def test_the_pods_without_collectors_go_by_name() -> None:
    world = running({"spec.collectors.replicas": 4})
    first, second, third, fourth = map(name_of, world.pods("worker"))
    world.edit({"spec.collectors.replicas": 2})
    rows: list[dict[str, Any]] = [
        {"name": "c0", "state": "Retired", "pod": first},
        {"name": "c1", "state": "Ready", "pod": second},
        {"name": "c2", "state": "Retired", "pod": third},
        {"name": "c3", "state": "Ready", "pod": fourth},
    ]
    world.report(2, desired=2, collectors=rows)
    world.carry_out()
    assert to_delete(world) == sorted([first, third])


def test_names_stay_listed_until_their_pods_are_gone_and_then_vanish() -> None:
    world = running({"spec.collectors.replicas": 2})
    world.edit({"spec.collectors.replicas": 1})
    world.report(1, desired=1)
    world.carry_out()
    (going,) = to_delete(world)
    (pod,) = (pod for pod in world.pods("worker") if name_of(pod) == going)
    pod["metadata"]["deletionTimestamp"] = "2026-07-01T12:00:00Z"
    world.store(pod)
    assert world.carry_out() == ()
    world.collect(pod)
    assert kinds(world.carry_out()) == ["Update RayCluster"]
    assert to_delete(world) == []
    assert replicas(world) == 1


def test_without_a_driver_nobody_is_waited_for() -> None:
    world = started({"spec.collectors.replicas": 3})
    world.edit({"spec.collectors.replicas": 1})
    world.carry_out()
    assert replicas(world) == 1
    assert len(to_delete(world)) == 2


def with_a_second_group(world: World, pods: int) -> Object:
    """The world's RayCluster, with a group of further worker pods."""
    cluster = world.get(RAYCLUSTER)
    second = {**worker_groups(cluster)[names.WORKER_GROUP], "groupName": "large", "replicas": pods}
    cluster["spec"]["workerGroupSpecs"].append(second)
    stored = world.store(cluster)
    world.make_pods()
    world.run_pods("worker")
    return stored


def test_each_group_names_its_own_pods() -> None:
    world = running({"spec.collectors.replicas": 2})
    stored = with_a_second_group(world, pods=3)
    seen = world.seen()
    assert (len(seen.workers), len(seen.of_group(names.WORKER_GROUP)), len(seen.of_group("large"))) == (5, 2, 3)
    sizes = sizes_of(sized(seen, read_raycluster(stored), resized(stored, {"large": GroupSize(1)})))
    assert sizes[names.WORKER_GROUP] == GroupSize(2)
    assert sizes["large"].pods == 1
    assert set(sizes["large"].to_delete) < {pod.name for pod in seen.of_group("large")}
    assert len(sizes["large"].to_delete) == 2


def test_a_group_that_is_new_has_all_its_pods_at_once() -> None:
    world = running()
    before = world.get(RAYCLUSTER)
    after = with_a_second_group(world, pods=3)
    assert sizes_of(sized(world.seen(), read_raycluster(before), after))["large"] == GroupSize(3)
