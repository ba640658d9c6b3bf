"""A fleet with learners: their pods are counted, and nobody is asked to leave them."""

from __future__ import annotations

from typing import Any

from tests.combinations.parts import LEARNERS
from tests.unit.collectorfleet_operator.world import kinds, running, started, told

from collectorfleet_api.v1alpha1 import WorkerPods
from collectorfleet_operator.children.group_sizes import sizes_of
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.decide.rolling import evicted
from collectorfleet_operator.objects import name_of

FLEET: dict[str, Any] = {"spec.learners": {**LEARNERS, "maxPolicies": 2}}
ROLLED = {
    **FLEET,
    "spec.updateStrategy": {"type": "RollingUpdate"},
    "spec.driver.checkpoint": {"claimName": "runs"},
}


def test_a_fleet_is_ready_once_its_learner_pods_are() -> None:
    world = started(FLEET)
    world.run_pods("head", "worker")
    assert told(world.look(), "RayClusterReady")[2] == "4 of 6 worker pods are ready (learners 0 of 2)"
    world.run_pods("learner")
    status = world.look()
    assert told(status, "RayClusterReady")[0] == "True"
    assert status.ray_cluster is not None
    assert [(one.name, one.worker_pods) for one in status.ray_cluster.groups] == [
        ("collectors", WorkerPods(desired=4, ready=4)),
        ("learners", WorkerPods(desired=2, ready=2)),
    ]


def test_an_autoscaler_of_pods_counts_those_of_collectors_alone() -> None:
    assert running(FLEET).look().selector == "collectorfleet.dev/fleet=cheetah,collectorfleet.dev/role=worker"


def test_scaling_leaves_learner_pods_as_they_are() -> None:
    world = running(FLEET)
    world.edit({**FLEET, "spec.collectors.replicas": 2})
    world.report(2, desired=2)
    world.carry_out()
    assert {name: size.pods for name, size in sizes_of(world.get(RAYCLUSTER)).items()} == {
        "collectors": 2,
        "learners": 2,
    }


def test_an_evicted_learner_pod_is_replaced_at_once_and_the_driver_is_asked_nothing() -> None:
    world = running(FLEET)
    pod = world.pods("learner")[0]
    world.store({**pod, "metadata": {**pod["metadata"], "deletionTimestamp": "2026-01-01T12:00:00Z"}})
    assert evicted(world.seen()) == []
    assert kinds(world.carry_out()) == ["Update RayCluster"]
    assert sizes_of(world.get(RAYCLUSTER))["learners"].to_delete == (name_of(pod),)
    assert world.look().orders is None


def test_a_policy_that_comes_starts_the_driver_anew_on_the_same_learner_pods() -> None:
    world = running(ROLLED)
    before, learners = world.get(RAYCLUSTER), [name_of(pod) for pod in world.pods("learner")]
    world.edit({**ROLLED, "spec.learners": {**LEARNERS, "maxPolicies": 2, "policies": [{"id": "red"}]}})
    orders = world.look().orders
    assert orders is not None
    assert orders.stop_at_batch
    world.end_driver(65)
    world.look()
    assert kinds(world.carry_out())[0] == "Delete Job"
    world.carry_out()
    assert world.get(RAYCLUSTER)["metadata"]["uid"] == before["metadata"]["uid"]
    assert [name_of(pod) for pod in world.pods("learner")] == learners
