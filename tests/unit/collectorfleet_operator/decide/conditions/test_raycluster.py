"""What RayClusterReady says of head and workers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.unit.collectorfleet_operator.world import DRIVER, World, condition, later, running, started, told

from collectorfleet_api.v1alpha1 import ConditionStatus, Reason
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.decide.situation import Refused, Warned
from collectorfleet_operator.decide.warnings import fields_of_event, relevant
from collectorfleet_operator.objects import name_of, uid_of


def test_the_head_comes_before_the_workers() -> None:
    world = started()
    assert told(world.look(), "RayClusterReady")[1] == "HeadStarting"
    world.run_pods("head")
    assert told(world.look(), "RayClusterReady") == ("False", "WorkersStarting", "0 of 4 worker pods are ready")
    world.run_pods("worker")
    assert told(world.look(), "RayClusterReady") == ("True", "Ready", "the head and 4 of 4 worker pods are ready")


def test_whether_kuberay_runs_is_asked_only_after_it_had_time_to_make_pods() -> None:
    world = World()
    world.carry_out()
    assert told(world.look(), "RayClusterReady")[1:] == ("HeadPending", "KubeRay has not created the head pod yet")
    assert world.plan().again_after == timedelta(seconds=15)
    world.seconds = 15
    text = "KubeRay has not created the head pod yet; check that the KubeRay operator runs"
    assert told(world.look(world.now), "RayClusterReady")[1:] == ("HeadPending", text)


def test_a_worker_pod_that_is_made_anew_does_not_ask_whether_kuberay_runs() -> None:
    world = running()
    world.look()
    world.wait_until(600)
    world.collect(world.pods("worker")[0])
    text = "3 of 4 worker pods are ready; KubeRay has created 3 of the worker pods"
    assert told(world.look(world.now), "RayClusterReady")[2] == text
    world.seconds = 615
    assert told(world.look(world.now), "RayClusterReady")[2] == f"{text}; check that the KubeRay operator runs"


def test_an_image_that_cannot_be_pulled_reaches_ready_in_kubernetes_words() -> None:
    world = started()
    world.run_pods("head")
    world.hold_up("worker", "ErrImagePull", "ghcr.io/you/cheetah:1.0: not found")
    seen = world.look()
    text = "4 of 4 worker pods: ghcr.io/you/cheetah:1.0: not found"
    assert told(seen, "RayClusterReady") == ("False", "ImagePullBackOff", text)
    assert told(seen, "Ready") == ("False", "ImagePullBackOff", text)


@pytest.mark.parametrize(
    ("role", "type_", "reason"),
    [
        ("head", "RayClusterReady", "HeadUnschedulable"),
        ("worker", "RayClusterReady", "CollectorUnschedulable"),
        ("driver", "DriverRunning", "DriverUnschedulable"),
    ],
)
def test_a_pod_that_fits_nowhere_says_so_in_the_schedulers_words(role: str, type_: str, reason: str) -> None:
    world = started()
    if role == "worker":
        world.run_pods("head")
    words = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
    unschedulable = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": words}
    for pod in world.pods(role):
        world.set_pod(pod, phase="Pending", conditions=[unschedulable])
    found = told(world.look(), type_)
    assert found[:2] == ("False", reason)
    assert words in found[2]


def test_worker_pods_that_fit_nowhere_say_how_much_they_ask_for() -> None:
    world = started({"spec.collectors.resources": {"gpu": 0.25, "memory": "3Gi"}, "spec.workers.gpu.perPod": 2})
    world.run_pods("head")
    words = "0/3 nodes are available: 1 Insufficient memory, 3 Insufficient nvidia.com/gpu."
    unschedulable = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": words}
    pending = world.pods("worker")
    for pod in pending:
        world.set_pod(pod, phase="Pending", conditions=[unschedulable])
    # Of 8 collectors: 8 * 3Gi, 512Mi for Ray, and an object store of 256Mi and 8 * 256Mi.
    text = f"{len(pending)} of {len(pending)} worker pods: the pod requests memory: 27392Mi, nvidia.com/gpu: 2; {words}"
    assert told(world.look(), "RayClusterReady") == ("False", "CollectorUnschedulable", text)


def test_a_worker_killed_for_memory_says_its_limit() -> None:
    world = running()
    state = {
        "name": "ray-worker",
        "ready": False,
        "restartCount": 2,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 20s restarting failed container"}},
        "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
    }
    for pod in world.pods("worker"):
        world.set_pod(pod, phase="Running", containerStatuses=[state])
    assert told(world.look(), "RayClusterReady") == (
        "False",
        "OOMKilled",
        "4 of 4 worker pods: container ray-worker was killed at its memory limit of 3Gi, restarted 2 times",
    )


def test_without_kuberay_the_fleet_is_stalled_and_says_how_to_install_it() -> None:
    seen = World().look(kuberay_installed=False)
    assert told(seen, "Stalled")[:2] == ("True", "KubeRayMissing")
    assert told(seen, "Reconciling")[0] == "False"
    assert "helm install" in told(seen, "Ready")[2]


def test_a_child_that_is_refused_stalls_the_fleet_in_the_api_servers_words() -> None:
    refused = Refused(
        RAYCLUSTER,
        Reason.REFUSED,
        "apply RayCluster default/cheetah: .spec.x: field not declared in schema",
        holds_collectors=True,
    )
    seen = World().look(refused=[refused])
    for type_, status in (("Stalled", "True"), ("RayClusterReady", "False"), ("Ready", "False")):
        assert told(seen, type_) == (status, "Refused", refused.message)


@pytest.mark.parametrize(
    ("status", "reason"), [("Failed", "Evicted"), ("Failed", "NodeLost")], ids=["evicted", "node lost"]
)
def test_a_pod_that_kubernetes_ended_says_why(status: str, reason: str) -> None:
    world = running()
    pod = world.pods("head")[0]
    world.set_pod(pod, phase=status, reason=reason, message="The node was low on resource: memory.")
    assert told(world.look(), "RayClusterReady")[1:] == (
        reason,
        "1 of 1 head pods: The node was low on resource: memory.",
    )


def test_pods_of_an_earlier_cluster_are_named_while_they_are_waited_for() -> None:
    world = running()
    pods = world.pods("head") + world.pods("worker")
    world.replace_fleet()
    world.collect(world.get(RAYCLUSTER), world.get(JOB, DRIVER))
    found: Any = condition(world.look(), "RayClusterReady")
    assert (found.status, found.reason) == (ConditionStatus.FALSE, "WaitingForDeletion")
    assert name_of(pods[0]) in found.message


def test_a_secret_of_the_fleets_name_without_a_token_is_a_name_that_is_taken() -> None:
    world = started()
    said = "couldn't find key auth_token in Secret default/cheetah"
    world.hold_up("head", "CreateContainerConfigError", said)
    status = world.look()
    expected = (
        "Secret cheetah is not KubeRay's: it has no key auth_token; delete the Secret, or give the fleet another name"
    )
    assert told(status, "RayClusterReady") == ("False", "NameTaken", expected)
    assert told(status, "Stalled") == ("True", "NameTaken", expected)
    # What is missing while everything starts is made a second later.
    world.hold_up("head", "CreateContainerConfigError", 'secret "cheetah" not found')
    assert told(world.look(), "Stalled")[0] == "False"


def test_a_refused_pod_is_told_until_kuberay_makes_a_pod_again() -> None:
    world = started()
    world.run_pods("head")
    pods = world.pods("worker")
    world.collect(*pods)
    world.look()
    text = 'pods "cheetah-collectors-worker-" is forbidden: exceeded quota: gpus'
    warned = Warned(uid_of(world.get(RAYCLUSTER)), "FailedToCreateWorkerPod", text, later(60))
    world.seconds = 600
    seen = world.look(world.now, warnings=[warned])
    assert told(seen, "RayClusterReady") == ("False", "FailedToCreateWorkerPod", text)
    world.make_pods()
    seen = world.look(world.now, warnings=[warned])
    assert told(seen, "RayClusterReady") == ("False", "WorkersStarting", "0 of 4 worker pods are ready")


@pytest.mark.parametrize("type_", ["RayClusterReady", "DriverRunning"])
def test_a_priority_class_that_does_not_exist_is_told_with_its_field(type_: str) -> None:
    world = World()
    world.carry_out()
    world.look()
    refusal = 'pods "cheetah-" is forbidden: no PriorityClass with name hihg was found'
    child = world.get(RAYCLUSTER) if type_ == "RayClusterReady" else world.get(JOB, DRIVER)
    event = {
        "involvedObject": {"kind": child["kind"], "uid": uid_of(child)},
        "reason": "FailedCreate",
        "message": f"Error creating: {refusal}",
        "lastTimestamp": "2026-07-01T12:00:00Z",
    }
    seen = world.look(warnings=relevant([fields_of_event(event)], world.now))
    text = f"Error creating: {refusal}; correct priorityClassName in the fleet's spec, or create the PriorityClass"
    assert told(seen, type_) == ("False", "FailedCreate", text)
