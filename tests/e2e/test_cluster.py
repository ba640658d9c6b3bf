"""The cluster itself: what the other end-to-end tests rely on."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cluster import storage
from tests.cluster.client import Client, Object
from tests.cluster.cluster import Cluster
from tests.cluster.thin_images import COLLECTOR_IMAGES

IMAGE = COLLECTOR_IMAGES[0]


def pod(name: str, command: list[str], image: str = IMAGE, **spec: object) -> Object:
    container = {"name": "main", "image": image, "command": command}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container], **spec},
    }


def raycluster(name: str) -> Object:
    def template(memory: str) -> Object:
        resources = {"requests": {"cpu": "100m", "memory": memory}, "limits": {"memory": memory}}
        return {"spec": {"containers": [{"name": "ray", "image": IMAGE, "resources": resources}]}}

    worker = {
        "groupName": "collectors",
        "replicas": 1,
        "minReplicas": 0,
        "maxReplicas": 10,
        "rayStartParams": {"num-cpus": "1"},
        "template": template("2Gi"),
    }
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": name},
        "spec": {
            "rayVersion": "2.60.0",
            "authOptions": {"mode": "token"},
            "headGroupSpec": {"rayStartParams": {"num-cpus": "0"}, "template": template("2Gi")},
            "workerGroupSpecs": [worker],
        },
    }


@pytest.mark.variant_of("tests/e2e/test_fleet.py::test_the_example_trains_to_its_reward_and_leaves_nothing_behind")
def test_a_raycluster_becomes_ready(cluster: Client, namespace: str) -> None:
    cluster.apply(raycluster("small"), namespace)
    cluster.wait_for("raycluster/small", lambda rc: rc["status"].get("readyWorkerReplicas") == 1, namespace, within=400)
    cluster.wait_for("raycluster/small", "RayClusterProvisioned", namespace)


@pytest.mark.variant_of("tests/e2e/test_fleet.py::test_the_example_trains_to_its_reward_and_leaves_nothing_behind")
def test_a_pod_runs_the_project_as_an_ordinary_user(own_cluster: Cluster, namespace: str) -> None:
    security = {"runAsNonRoot": True, "runAsUser": 1000}
    code = "import collectorfleet, os, ray, torch; print(os.getuid(), ray.__version__, collectorfleet.__file__)"
    own_cluster.apply(pod("python", ["python", "-c", code], securityContext=security), namespace)
    own_cluster.wait_for("pod/python", lambda p: p["status"]["phase"] == "Succeeded", namespace)
    assert own_cluster.kubectl("logs", "python", "-n", namespace).startswith("1000 2.60.0 /opt/collectorfleet/src/")


def test_an_image_that_does_not_exist_is_said_to_be_not_found(own_cluster: Cluster, namespace: str) -> None:
    own_cluster.apply(pod("lost", ["true"], image="ghcr.io/nobody/nothing:1"), namespace)

    def waiting(found: Object) -> bool:
        reason = found["status"]["containerStatuses"][0]["state"]["waiting"]
        return (
            reason["reason"] in ("ErrImagePull", "ImagePullBackOff") and "ghcr.io/nobody/nothing" in reason["message"]
        )

    own_cluster.wait_for("pod/lost", waiting, namespace, within=60)


@pytest.mark.variant_of("tests/e2e/test_fleet.py::test_the_example_trains_to_its_reward_and_leaves_nothing_behind")
def test_a_service_is_reached_by_name_from_a_pod_of_the_same_node(cluster: Client, namespace: str) -> None:
    server = pod("server", ["python", "-m", "http.server", "8000"])
    server["metadata"]["labels"] = {"app": "server"}
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "server"},
        "spec": {"selector": {"app": "server"}, "ports": [{"port": 80, "targetPort": 8000}]},
    }
    client = pod("client", ["wget", "-qO-", "--tries=20", "--retry-connrefused", "http://server"])
    cluster.apply([server, service], namespace)
    cluster.wait_for("pod/server", "Ready", namespace)
    cluster.apply(client, namespace)
    cluster.wait_for("pod/client", lambda p: p["status"]["phase"] == "Succeeded", namespace)


@pytest.mark.variant_of("tests/e2e/test_gpus.py::test_collectors_share_what_a_node_offers")
def test_pods_can_ask_for_devices_that_exist_in_name_only(own_cluster: Cluster, namespace: str) -> None:
    own_cluster.add_gpus("node1", 2)
    asking = pod("gpu", ["sleep", "600"])
    asking["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "2"}}
    own_cluster.apply(asking, namespace)
    own_cluster.wait_for("pod/gpu", "Ready", namespace)


def test_a_pod_of_the_runtime_class_image_sees_nothing_of_the_machine(own_cluster: Cluster, namespace: str) -> None:
    own_cluster.apply(pod("isolated", ["/usr/bin/true"], runtimeClassName="image"), namespace)

    def refused(found: Object) -> bool:
        ended = found["status"]["containerStatuses"][0]["state"]["terminated"]
        return ended["reason"] == "StartError" and "/usr/bin/true" in ended["message"]

    own_cluster.wait_for("pod/isolated", refused, namespace, within=60)


def test_a_claim_without_a_class_gets_a_volume_that_the_user_of_a_fleet_can_write_to(
    own_cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "cheetah"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}},
    }
    writing = pod("writer", ["touch", "/checkpoints/written"], securityContext={"runAsUser": 1000})
    writing["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/checkpoints"}]
    writing["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "cheetah"}}]
    made = storage.add(own_cluster, tmp_path, count=1)
    try:
        own_cluster.apply([claim, writing], namespace)
        own_cluster.wait_for("pod/writer", lambda p: p["status"]["phase"] == "Succeeded", namespace)
    finally:
        for one in made:
            own_cluster.delete(f"{one['kind'].lower()}/{one['metadata']['name']}", wait=False)
    (written,) = tmp_path.glob("*/written")
    assert written.stat().st_uid == 1000
