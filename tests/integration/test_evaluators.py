"""Evaluators of a fleet on a real API server with KubeRay: pods of their own, without which it collects."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.cluster.client import Object
from tests.cluster.control_plane import ControlPlane
from tests.integration import played
from tests.integration.played import Pods, manifest, message, told
from tests.wait import eventually

from collectorfleet_operator.children.group_sizes import sizes_of

pytestmark = pytest.mark.usefixtures("fleet_operator")

FITS_NOWHERE = "0/3 nodes are available: 3 Insufficient memory."


def fleet(pool: str = "cpu") -> Object:
    evaluation = {"replicas": 2, "template": {"spec": {"nodeSelector": {"pool": pool}}}}
    return manifest(evaluation=evaluation, updateStrategy={"type": "RollingUpdate"})


def unschedulable(pods: Pods) -> None:
    reason = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": FITS_NOWHERE}
    for pod in pods.wait("evaluator", 2):
        pods.set_status(pod, phase="Pending", conditions=[reason])


def groups(fleet: Object) -> dict[str, Any]:
    found = fleet["status"].get("rayCluster", {}).get("groups", [])
    return {one["name"]: (one["workerPods"]["desired"], one["workerPods"]["ready"]) for one in found}


def uids(pods: Pods, role: str) -> set[str]:
    return {pod["metadata"]["uid"] for pod in pods.of(role)}


def test_a_fleet_collects_without_its_evaluators_and_has_them_made_again(
    control_plane: ControlPlane, namespace: str
) -> None:
    plane = control_plane
    plane.apply(fleet(), namespace)
    pods = Pods(plane, namespace)
    for role, count in (("head", 1), ("worker", 2), ("driver", 1)):
        pods.run(role, count)
    unschedulable(pods)
    played.report(plane, namespace, available=2)

    # The fleet is ready, and says which pods fit nowhere and why.
    seen = plane.wait_for(
        "cfleet/fleet",
        lambda f: (
            told(f, "Ready") == ("True", "Collecting")
            and told(f, "RayClusterReady") == ("False", "EvaluatorUnschedulable")
            # The pods get their status one after the other, and the operator may look in between.
            and message(f, "RayClusterReady").startswith("2 of 2 evaluator pods: the pod requests ")
        ),
        namespace,
    )
    assert FITS_NOWHERE in message(seen, "RayClusterReady")
    assert groups(seen) == {"collectors": (2, 2), "evaluators": (2, 0)}
    assert seen["status"]["rayCluster"]["workerPods"] == {"desired": 2, "ready": 2}
    events = eventually(
        lambda: plane.items("events", namespace),
        until=lambda found: "EvaluatorUnschedulable" in {one["reason"] for one in found},
        within=60,
        what="an Event about the evaluators",
    )
    assert {one["type"] for one in events if one["reason"] == "EvaluatorUnschedulable"} == {"Warning"}

    # Scaling counts collectors only.
    assert seen["status"]["replicas"] == 2
    scale = json.loads(plane.kubectl("get", "cfleet/fleet", "--subresource=scale", "-o", "json", "-n", namespace))
    assert scale["status"]["replicas"] == 2
    selected = plane.items("pods", namespace, scale["status"]["selector"])
    assert {pod["metadata"]["uid"] for pod in selected} == uids(pods, "worker")
    plane.kubectl("scale", "cfleet/fleet", "--replicas=3", "-n", namespace)
    pods.run("worker", 3)
    played.report(plane, namespace, available=3)
    plane.wait_for("cfleet/fleet", lambda f: f["status"].get("replicas") == 3, namespace)
    cluster = plane.get("raycluster/fleet", namespace)
    assert {name: size.pods for name, size in sizes_of(cluster).items()} == {"collectors": 3, "evaluators": 2}

    # A pod that is lost is made again, beside the same driver and the same workers.
    pods.run("evaluator", 2)
    plane.wait_for("cfleet/fleet", lambda f: told(f, "RayClusterReady") == ("True", "Ready"), namespace)
    before = {role: uids(pods, role) for role in ("head", "worker", "driver")}
    lost, kept = pods.of("evaluator")
    plane.kubectl("delete", "pod", lost["metadata"]["name"], "--grace-period=0", "--force", "-n", namespace)
    eventually(
        lambda: uids(pods, "evaluator"),
        until=lambda now: len(now) == 2 and lost["metadata"]["uid"] not in now,
        within=30,
        what="another evaluator pod",
    )
    assert kept["metadata"]["uid"] in uids(pods, "evaluator")
    pods.run("evaluator", 2)

    # A changed template replaces them, and nothing else.
    old = uids(pods, "evaluator")
    changed = fleet("fast")
    changed["spec"]["collectors"]["replicas"] = 3
    plane.apply(changed, namespace)
    eventually(
        lambda: pods.of("evaluator"),
        until=lambda now: [pod["spec"]["nodeSelector"] for pod in now] == [{"pool": "fast"}] * 2,
        within=30,
        what="evaluator pods of the changed template",
    )
    assert not uids(pods, "evaluator") & old
    pods.run("evaluator", 2)
    seen = plane.wait_for("cfleet/fleet", lambda f: told(f, "UpToDate")[0] == "True", namespace)
    assert told(seen, "Ready")[0] == "True"
    assert {role: uids(pods, role) for role in ("head", "worker", "driver")} == before

    # Suspended, the fleet has no evaluator pods; resumed, it has them again.
    plane.kubectl("patch", "cfleet/fleet", "-n", namespace, "--type=merge", "-p", '{"spec":{"suspend":true}}')
    plane.wait_for("cfleet/fleet", lambda f: f["status"].get("orders", {}).get("stopAtBatch"), namespace)
    (driver,) = pods.of("driver")
    pods.end(driver, 65, "stopped: the operator asked the driver to end after its batch")
    plane.wait_for("cfleet/fleet", "Suspended", namespace)
    assert pods.of("evaluator") == []
    plane.kubectl("patch", "cfleet/fleet", "-n", namespace, "--type=merge", "-p", '{"spec":{"suspend":false}}')
    pods.wait("evaluator", 2)
