"""A fleet without Ray in a real API server: its Job and its Secret are Kubernetes' own, and its pods are played."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from tests.cluster.client import Object
from tests.cluster.control_plane import ControlPlane
from tests.integration import played
from tests.integration.played import Pods, manifest, message, told
from tests.wait import eventually

from collectorfleet_api import names

pytestmark = pytest.mark.usefixtures("fleet_operator")

JOB = "job/fleet-collectors"
INDEX = "batch.kubernetes.io/job-completion-index"
ROLLING = {
    "updateStrategy": {"type": "RollingUpdate"},
    "driver": {"train": {"function": "training:train"}, "checkpoint": {"claimName": "runs"}},
}


def without_ray(replicas: int = 2, **spec: Any) -> Object:
    collection = {"framesPerBatch": 1200, "transport": "TorchDistributed"}
    return manifest(replicas=replicas, **{"launcher": "Job", "collection": collection, **spec})


def start(plane: ControlPlane, namespace: str, replicas: int = 2, **spec: Any) -> tuple[Pods, Object]:
    """One that collects."""
    plane.apply(without_ray(replicas, **spec), namespace)
    pods = Pods(plane, namespace)
    pods.run("worker", replicas)
    pods.run("driver", 1)
    played.report(plane, namespace, available=replicas)

    def collects(found: Object) -> bool:
        # The operator may see the driver's report before it sees that the last pod is ready.
        return told(found, "Ready")[0] == told(found, "CollectorsJobReady")[0] == "True"

    return pods, plane.wait_for("cfleet/fleet", collects, namespace)


def indexes(pods: Pods) -> list[str]:
    return sorted(pod["metadata"]["annotations"][INDEX] for pod in pods.of("worker"))


def tokens(plane: ControlPlane, namespace: str) -> dict[str, bytes]:
    found = plane.items("secrets", namespace)
    return {one["metadata"]["name"]: base64.b64decode(one["data"][names.HOSTS_TOKEN_KEY]) for one in found}


def test_it_collects_with_two_jobs_a_service_and_a_secret(control_plane: ControlPlane, namespace: str) -> None:
    plane = control_plane
    _, fleet = start(plane, namespace)
    assert told(fleet, "CollectorsJobReady") == ("True", "Ready")
    assert told(fleet, "RayClusterReady") == ("", "")
    assert fleet["status"]["collectorsJob"]["workerPods"] == {"desired": 2, "ready": 2}
    assert plane.items("rayclusters", namespace) == []
    assert plane.get("service/fleet-driver", namespace)["spec"]["clusterIP"] == "None"
    [(name, token)] = tokens(plane, namespace).items()
    assert name == f"fleet-collectors-{fleet['metadata']['uid'][:8]}"
    assert len(token) == 64


def test_it_grows_and_shrinks_by_its_highest_indexes(control_plane: ControlPlane, namespace: str) -> None:
    plane = control_plane
    pods, _ = start(plane, namespace)

    def scale(replicas: int) -> None:
        plane.kubectl("scale", "cfleet/fleet", f"--replicas={replicas}", "-n", namespace)

    scale(4)
    pods.run("worker", 4)
    played.report(plane, namespace, available=4)
    plane.wait_for("cfleet/fleet", lambda found: found["status"]["replicas"] == 4, namespace)
    assert indexes(pods) == ["0", "1", "2", "3"]
    scale(1)
    # Until its driver has left them.
    plane.wait_for(
        "cfleet/fleet",
        lambda found: found["status"]["observedGeneration"] == found["metadata"]["generation"],
        namespace,
    )
    assert plane.get(JOB, namespace)["spec"]["completions"] == 4
    played.report(plane, namespace, available=1)
    eventually(lambda: indexes(pods), until=lambda found: found == ["0"], within=30, what="one pod")
    spec = plane.get(JOB, namespace)["spec"]
    assert (spec["parallelism"], spec["completions"]) == (1, 1)


def test_a_pod_that_is_lost_is_made_again_under_its_index(control_plane: ControlPlane, namespace: str) -> None:
    plane = control_plane
    pods, _ = start(plane, namespace)
    lost = next(pod for pod in pods.of("worker") if pod["metadata"]["annotations"][INDEX] == "1")
    # As on a lost node: nobody says that it has ended.
    plane.kubectl(
        "delete", f"pod/{lost['metadata']['name']}", "-n", namespace, "--grace-period=0", "--force", "--wait=false"
    )
    # Kubernetes waits for ten seconds.
    eventually(
        lambda: [pod for pod in pods.of("worker") if pod["metadata"]["uid"] != lost["metadata"]["uid"]],
        until=lambda found: len(found) == 2,
        within=40,
        what="another pod in its place",
    )
    assert indexes(pods) == ["0", "1"]
    fleet = plane.wait_for(
        "cfleet/fleet", lambda found: told(found, "CollectorsJobReady") == ("False", "WorkersStarting"), namespace
    )
    assert "1 of 2 worker pods are ready" in message(fleet, "CollectorsJobReady")


def test_changed_workers_are_a_new_job_beside_the_same_driver(control_plane: ControlPlane, namespace: str) -> None:
    plane = control_plane
    pods, _ = start(plane, namespace, **ROLLING)
    driver, before = (plane.get(job, namespace)["metadata"]["uid"] for job in ("job/fleet-driver", JOB))
    template = {"template": {"spec": {"nodeSelector": {"pool": "cpu"}}}}
    plane.apply(without_ray(**ROLLING, workers=template), namespace)
    job = eventually(
        lambda: plane.find(JOB, namespace) or {"metadata": {"uid": before}},
        until=lambda found: found["metadata"]["uid"] != before,
        within=30,
        what="another Job",
    )
    assert job["spec"]["template"]["spec"]["nodeSelector"] == {"pool": "cpu"}
    pods.run("worker", 2)
    plane.wait_for("cfleet/fleet", "UpToDate", namespace)
    assert plane.get("job/fleet-driver", namespace)["metadata"]["uid"] == driver


def test_a_suspended_fleet_has_no_pods_and_a_resumed_one_has_them_again(
    control_plane: ControlPlane, namespace: str
) -> None:
    plane = control_plane
    pods, _ = start(plane, namespace)
    (driver,) = pods.of("driver")

    def suspend(yes: str) -> None:
        patch = f'{{"spec":{{"suspend":{yes}}}}}'
        plane.kubectl("patch", "cfleet/fleet", "-n", namespace, "--type=merge", "-p", patch)

    suspend("true")
    plane.wait_for("cfleet/fleet", lambda found: found["status"]["orders"]["stopAtBatch"], namespace)
    pods.end(driver, names.EXIT_STOPPED, "stopped: the operator asked the driver to end after its batch")
    plane.wait_for("cfleet/fleet", "Suspended", namespace)
    assert plane.items("jobs", namespace) == []
    suspend("false")
    pods.wait("worker", 2)
    pods.wait("driver", 1)


def test_a_fleet_of_a_deleted_ones_name_has_a_secret_of_its_own(control_plane: ControlPlane, namespace: str) -> None:
    plane = control_plane
    pods, _ = start(plane, namespace, 1)
    first, before = tokens(plane, namespace), {pod["metadata"]["uid"] for pod in pods.of("worker")}
    plane.kubectl("delete", "cfleet/fleet", "-n", namespace)
    plane.apply(without_ray(1), namespace)
    eventually(
        lambda: tokens(plane, namespace),
        until=lambda found: len(found) == 1 and found.keys() != first.keys(),
        within=60,
        what="another secret alone",
    )
    # The garbage collector may delete the first Secret earlier than the first pod.
    (worker,) = eventually(
        lambda: pods.of("worker"),
        until=lambda found: len(found) == 1 and found[0]["metadata"]["uid"] not in before,
        within=60,
        what="a worker pod of the next fleet alone",
    )
    mounted = [one["secret"]["secretName"] for one in worker["spec"]["volumes"] if "secret" in one]
    assert mounted == list(tokens(plane, namespace))
    assert set(tokens(plane, namespace).values()).isdisjoint(first.values())
