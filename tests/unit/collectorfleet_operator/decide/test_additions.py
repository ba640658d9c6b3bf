"""Labels, annotations and fields that others add to what the operator and KubeRay made."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.collectorfleet_operator.world import World, condition, running

from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.decide.rolling import outdated_pods, pods_to_drain
from collectorfleet_operator.objects import Object, metadata

ROLLING = {"spec.updateStrategy": {"type": "RollingUpdate"}}
FAST = {"spec.workers.template": {"spec": {"nodeSelector": {"disk": "fast"}}}}
STRATEGIES = pytest.mark.parametrize("strategy", [{}, ROLLING], ids=["OnDelete", "RollingUpdate"])


def add_to(obj: Object) -> Object:
    """What an administrator has configured for all objects."""
    meta = metadata(obj)
    meta["labels"] = {**(meta.get("labels") or {}), "cost-center": "lab", "sidecar.example/inject": "false"}
    meta["annotations"] = {**(meta.get("annotations") or {}), "scanner.example/ignore": "true"}
    return obj


def add_to_pods(world: World) -> None:
    """As KubeRay's ``defaultPodLabels`` and ``defaultPodAnnotations`` do, which no RayCluster names."""
    for role in ("head", "worker"):
        for pod in world.pods(role):
            world.store(add_to(pod))


@STRATEGIES
def test_pods_to_which_kuberay_adds_labels_and_annotations_are_as_the_fleet_asks(strategy: dict[str, Any]) -> None:
    world = running(strategy)
    before = world.look()
    add_to_pods(world)
    assert world.plan().actions == ()
    assert outdated_pods(world.seen()) == []
    assert pods_to_drain(world.seen()) == []
    assert world.look() == before


def test_new_pods_with_such_labels_end_a_rolling_update() -> None:
    world = running(ROLLING)
    world.edit({**ROLLING, **FAST})
    world.carry_out()
    world.collect(*world.pods("worker"))
    world.make_pods()
    world.run_pods("worker")
    add_to_pods(world)
    assert outdated_pods(world.seen()) == []
    assert world.plan().actions == ()
    assert condition(world.look(), "UpToDate").status.value == "True"


@STRATEGIES
def test_a_raycluster_that_others_label_and_default_stays_as_it_is(strategy: dict[str, Any]) -> None:
    world = running(strategy)
    cluster = add_to(world.get(RAYCLUSTER))
    cluster["spec"]["upgradeStrategy"] = {"type": "None"}
    for group in cluster["spec"]["workerGroupSpecs"]:
        add_to(group["template"])
    world.store(cluster)
    assert world.plan().actions == ()
