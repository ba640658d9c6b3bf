"""``CollectorsJobReady``: which pods of a Job without Ray are missing, and why."""

from __future__ import annotations

import pytest
from tests.combinations.parts import JOB as WITHOUT_RAY
from tests.unit.collectorfleet_operator.world import COLLECTORS, World, later, told

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import Reason
from collectorfleet_operator.children.collectors_job import INDEX_LABEL
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.decide.situation import Refused
from collectorfleet_operator.objects import Object, label, name_of

TYPE = "CollectorsJobReady"


def made() -> World:
    world = World(WITHOUT_RAY)
    world.carry_out()
    world.make_pods()
    return world


def running() -> World:
    world = World(WITHOUT_RAY)
    world.start()
    return world


def run(world: World, pod: Object) -> None:
    world.set_pod(pod, phase="Running", conditions=[{"type": "Ready", "status": "True"}])


def test_a_job_that_is_not_made_yet_is_pending() -> None:
    assert told(World(WITHOUT_RAY).look(), TYPE) == ("False", "Pending", "the collectors' Job has not been created yet")


def test_its_pods_are_counted_until_the_last_is_ready() -> None:
    world = made()
    pods = world.pods("worker")
    assert len(pods) == 4
    for ready, pod in enumerate(pods):
        assert told(world.look(), TYPE) == ("False", "WorkersStarting", f"{ready} of 4 worker pods are ready")
        run(world, pod)
    assert told(world.look(), TYPE) == ("True", "Ready", "4 of 4 worker pods are ready")


def test_pods_that_kubernetes_has_not_made_are_counted() -> None:
    world = running()
    world.collect(*world.pods("worker")[1:])
    text = (
        "1 of 4 worker pods are ready; Kubernetes has created 1 of the worker pods, and replaces a lost pod "
        "after a delay"
    )
    assert told(world.look(), TYPE) == ("False", "WorkersStarting", text)


def test_a_ready_pod_beyond_the_size_replaces_none_that_is_missing() -> None:
    world = running()
    extra = world.pods("worker")[0]
    lost = next(pod for pod in world.pods("worker") if label(pod, INDEX_LABEL) == "3")
    extra["metadata"] |= {"name": "cheetah-worker-extra", "uid": "extra"}
    extra["metadata"]["labels"] = {**extra["metadata"]["labels"], INDEX_LABEL: "4"}
    world.store(extra)
    world.collect(lost)
    assert told(world.look(), TYPE)[2].startswith("3 of 4 worker pods are ready; Kubernetes has created 3 of the ")


def test_a_job_of_an_earlier_run_is_waited_for_by_name() -> None:
    world = running()
    world.replace_fleet()
    text = "Job cheetah-collectors of an earlier run is being deleted"
    assert told(world.look(), TYPE) == ("False", "WaitingForDeletion", text)


def test_a_raycluster_of_an_earlier_launcher_is_waited_for_by_name() -> None:
    changes = {"spec.updateStrategy": {"type": "RollingUpdate"}, "spec.driver.checkpoint": {"claimName": "runs"}}
    world = World(changes)
    world.start()
    world.edit({**WITHOUT_RAY, **changes})
    world.end_driver(names.EXIT_STOPPED)
    world.end_job("Failed")
    world.carry_out()
    world.collect(*world.pods("driver"))
    text = "RayCluster cheetah of an earlier run is being deleted"
    assert told(world.look(), TYPE) == ("False", "WaitingForDeletion", text)


def test_pods_of_an_earlier_run_are_counted_and_three_of_them_named() -> None:
    world = running()
    world.collect(world.get(JOB, COLLECTORS))
    pods = world.pods("worker")
    assert len(pods) == 4
    text = f"4 pods of an earlier run are being deleted: {', '.join(name_of(pod) for pod in pods[:3])}"
    assert told(world.look(), TYPE) == ("False", "WaitingForDeletion", text)


@pytest.mark.parametrize(
    ("ready", "expected"),
    [(True, ("True", "Ready")), (False, ("False", "Refused"))],
    ids=["ready", "not ready"],
)
def test_a_refused_change_is_told_unless_all_pods_are_ready(ready: bool, expected: tuple[str, str]) -> None:
    refused = Refused(JOB, Reason.REFUSED, "update Job: quota", holds_collectors=True)
    world = running() if ready else made()
    assert told(world.look(refused=[refused]), TYPE)[:2] == expected


def test_a_refused_child_without_collectors_is_not_why_they_are_missing() -> None:
    refused = Refused(JOB, Reason.REFUSED, "update Job: quota", holds_collectors=False)
    assert told(made().look(refused=[refused]), TYPE)[1] == "WorkersStarting"


@pytest.mark.parametrize(
    ("reason", "shown"), [("Unschedulable", "CollectorUnschedulable"), ("SchedulingGated", "WorkersStarting")]
)
def test_a_pod_that_fits_nowhere_is_one_of_all(reason: str, shown: str) -> None:
    world = running()
    scheduled = {"type": "PodScheduled", "status": "False", "reason": reason, "message": "0/3 nodes"}
    world.set_pod(world.pods("worker")[0], phase="Pending", conditions=[scheduled])
    value, found, message = told(world.look(), TYPE)
    assert (value, found) == ("False", shown)
    if shown == "CollectorUnschedulable":
        assert message.startswith("1 of 4 worker pods: ")


def test_a_lost_node_is_told_before_a_pod_that_fits_nowhere() -> None:
    world = running()
    first, second, *_ = world.pods("worker")
    scheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}
    world.set_pod(second, phase="Pending", conditions=[scheduled])
    mark = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"}
    first["metadata"] |= {
        "deletionTimestamp": later(30).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "deletionGracePeriodSeconds": 30,
    }
    first["spec"] = {**first["spec"], "nodeName": "node-b"}
    first["status"] = {"phase": "Running", "conditions": [mark]}
    world.store(first)
    assert told(world.look(), TYPE) == ("False", "NodeLost", f"pod {name_of(first)} is lost with node node-b")


def test_at_most_three_pods_on_lost_nodes_are_named() -> None:
    world = running()
    for pod in world.pods("worker"):
        mark = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"}
        pod["metadata"] |= {"deletionTimestamp": "2026-07-01T12:00:30Z", "deletionGracePeriodSeconds": 30}
        pod["spec"] = {**pod["spec"], "nodeName": "node-b"}
        pod["status"] = {"phase": "Running", "conditions": [mark]}
        world.store(pod)
    named = [f"pod {name_of(pod)} is lost with node node-b" for pod in world.pods("worker")[:3]]
    assert told(world.look(), TYPE)[2] == "; ".join(named)


def test_at_most_three_pods_that_are_being_deleted_are_named() -> None:
    world = running()
    for pod in world.pods("worker"):
        pod["metadata"] |= {"deletionTimestamp": "2026-07-01T12:00:30Z", "deletionGracePeriodSeconds": 30}
        world.store(pod)
    named = ", ".join(name_of(pod) for pod in world.pods("worker")[:3])
    assert f"; being deleted: {named}; Kubernetes has created 0 of the worker pods" in told(world.look(), TYPE)[2]
