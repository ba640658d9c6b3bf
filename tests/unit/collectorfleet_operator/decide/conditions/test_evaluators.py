"""What ``RayClusterReady`` says of evaluator pods, once head and workers are ready."""

from __future__ import annotations

from typing import Any

from tests.combinations.parts import EVALUATION
from tests.unit.collectorfleet_operator.world import World, later, running, started, told, wire_time

from collectorfleet_operator.objects import Object, name_of

FLEET: dict[str, Any] = {"spec.evaluation": {**EVALUATION, "replicas": 2}}
TYPE = "RayClusterReady"


def collecting() -> World:
    """Everything runs but the evaluator pods."""
    world = started(FLEET)
    world.run_pods("head", "worker", "driver")
    world.renew_lease()
    world.report(4)
    return world


def unschedulable(world: World, pod: Object) -> None:
    scheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}
    world.set_pod(pod, phase="Pending", conditions=[scheduled])


def run(world: World, pod: Object) -> None:
    world.set_pod(pod, phase="Running", conditions=[{"type": "Ready", "status": "True"}])


def test_a_fleet_without_evaluation_says_nothing_of_evaluators() -> None:
    assert told(running().look(), TYPE) == ("True", "Ready", "the head and 4 of 4 worker pods are ready")


def test_evaluator_pods_are_counted_until_the_last_is_ready() -> None:
    world = collecting()
    text = "the head and 4 of 4 worker pods are ready, and 0 of 2 evaluator pods"
    assert told(world.look(), TYPE) == ("False", "WorkersStarting", text)
    run(world, world.pods("evaluator")[0])
    assert told(world.look(), TYPE)[2] == text.replace("0 of 2", "1 of 2")
    assert told(world.look(), "Ready")[0] == "True"
    run(world, world.pods("evaluator")[1])
    text = "the head, 4 of 4 worker pods and 2 of 2 evaluator pods are ready"
    assert told(world.look(), TYPE) == ("True", "Ready", text)


def test_more_ready_evaluator_pods_than_are_wanted_are_as_many_as_are_wanted() -> None:
    world = running(FLEET)
    extra = world.pods("evaluator")[0]
    extra["metadata"] |= {"name": "cheetah-evaluator-extra", "uid": "extra"}
    world.store(extra)
    assert len(world.pods("evaluator")) == 3
    text = "the head, 4 of 4 worker pods and 2 of 2 evaluator pods are ready"
    assert told(world.look(), TYPE) == ("True", "Ready", text)


def test_evaluator_pods_that_kuberay_has_not_made_are_counted() -> None:
    world = collecting()
    first, second = world.pods("evaluator")
    run(world, first)
    world.collect(second)
    text = (
        "the head and 4 of 4 worker pods are ready, and 1 of 2 evaluator pods; KubeRay has created 1 of the evaluator"
    )
    assert told(world.look(), TYPE)[2].startswith(f"{text} pods")


def test_an_evaluator_pod_that_is_being_deleted_is_named_and_not_counted() -> None:
    world = running(FLEET)
    pod = world.pods("evaluator")[0]
    pod["metadata"] |= {"deletionTimestamp": "2026-07-01T12:00:30Z", "deletionGracePeriodSeconds": 30}
    world.store(pod)
    text = f"4 of 4 worker pods are ready, and 1 of 2 evaluator pods; being deleted: {name_of(pod)}; KubeRay has"
    assert text in told(world.look(), TYPE)[2]


def test_one_evaluator_that_fits_nowhere_is_one_of_two() -> None:
    world = running(FLEET)
    unschedulable(world, world.pods("evaluator")[0])
    value, reason, message = told(world.look(), TYPE)
    assert (value, reason) == ("False", "EvaluatorUnschedulable")
    assert message.startswith("1 of 2 evaluator pods: ")
    assert told(world.look(), "Ready")[0] == "True"


def test_an_image_that_cannot_be_pulled_keeps_its_own_reason() -> None:
    world = collecting()
    for pod in world.pods("evaluator"):
        state = {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}}
        world.set_pod(pod, phase="Pending", containerStatuses=[{"name": "ray-worker", "state": state}])
    text = "2 of 2 evaluator pods: Back-off pulling image"
    assert told(world.look(), TYPE) == ("False", "ImagePullBackOff", text)


def test_a_lost_node_is_told_before_an_evaluator_that_fits_nowhere() -> None:
    world = running(FLEET)
    first, second = world.pods("evaluator")
    unschedulable(world, second)
    mark = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"}
    first["metadata"] |= {
        "deletionTimestamp": wire_time(later(30)),
        "deletionGracePeriodSeconds": 30,
    }
    first["spec"] = {**first["spec"], "nodeName": "node-b"}
    first["status"] = {"phase": "Running", "conditions": [mark]}
    world.store(first)
    text = f"pod {name_of(first)} is lost with node node-b"
    status = world.look()
    assert told(status, TYPE) == ("False", "NodeLost", text)
    assert told(status, "Ready")[0] == "True"
