"""What an upgrade of the operator does to RayClusters that run: nothing."""

from __future__ import annotations

import pytest
from tests.unit.collectorfleet_operator.children.fleets import cluster
from tests.unit.collectorfleet_operator.world import World, kinds, running

from collectorfleet_operator.children.built import BUILT, built_hash, keep_manifest_of_other_release
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.objects import Object, annotation


def built_by_another_release(built: str | None) -> World:
    """A fleet whose RayCluster looks otherwise than this release would make it."""
    world = running()
    cluster = world.get(RAYCLUSTER)
    annotations = cluster["metadata"]["annotations"]
    if built is None:
        del annotations[BUILT]
    else:
        annotations[BUILT] = built
    change(cluster)
    world.store(cluster)
    return world


def change(cluster: Object) -> None:
    cluster["spec"]["headGroupSpec"]["rayStartParams"]["num-cpus"] = "1"
    cluster["spec"]["suspend"] = False  # Kueue's


def test_what_another_release_built_stays_as_it_is() -> None:
    for built in (None, "0123456789abcdef"):
        assert built_by_another_release(built).plan().actions == ()


def test_its_size_follows_all_the_same() -> None:
    world = built_by_another_release("0123456789abcdef")
    world.edit({"spec.collectors.replicas": 6})
    assert kinds(world.carry_out()) == ["Update RayCluster"]
    cluster = world.get(RAYCLUSTER)
    assert cluster["spec"]["workerGroupSpecs"][0]["replicas"] == 6
    assert cluster["spec"]["headGroupSpec"]["rayStartParams"]["num-cpus"] == "1"
    assert world.plan().actions == ()


def test_kueues_field_is_never_applied() -> None:
    world = built_by_another_release("0123456789abcdef")
    world.edit({"spec.collectors.replicas": 6})
    (update,) = world.plan().actions
    assert "suspend" not in update.manifest["spec"]  # type: ignore[union-attr]


def test_what_somebody_changed_in_one_of_this_release_is_put_right() -> None:
    world = running()
    cluster = world.get(RAYCLUSTER)
    change(cluster)
    world.store(cluster)
    assert kinds(world.carry_out()) == ["Update RayCluster"]
    assert world.get(RAYCLUSTER)["spec"]["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"


def test_the_hash_does_not_follow_the_size() -> None:
    few, many = (
        annotation(running({"spec.collectors.replicas": replicas}).get(RAYCLUSTER), BUILT) for replicas in (1, 9)
    )
    assert few == many


def test_the_hash_is_of_what_is_in_the_spec_and_not_of_the_order_of_its_keys() -> None:
    spec = cluster()["spec"]
    assert built_hash(dict(reversed(spec.items()))) == built_hash(spec)
    assert built_hash({**spec, "rayVersion": "2.0.0"}) != built_hash(spec)


@pytest.mark.parametrize("stored_hash", ["0000000000000000", "ffffffffffffffff", None])
def test_a_raycluster_of_another_spec_is_built_anew_by_this_release(stored_hash: str | None) -> None:
    desired = cluster()
    stored = cluster({"spec.collectors.replicas": 2})
    annotations = stored["metadata"]["annotations"]
    annotations[BUILT] = "0123456789abcdef"
    change(stored)
    assert keep_manifest_of_other_release(stored, desired)["spec"]["headGroupSpec"]["rayStartParams"]["num-cpus"] == "1"
    annotations["collectorfleet.dev/hash-group-collectors"] = stored_hash
    assert keep_manifest_of_other_release(stored, desired) is desired
