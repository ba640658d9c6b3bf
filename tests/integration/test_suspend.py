"""A fleet that is suspended, one that is rolled over, and one whose code is mended, in a real API server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.cluster.client import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.errors import KubernetesError
from tests.integration import played
from tests.integration.played import Pods, manifest, message, told
from tests.wait import eventually

from collectorfleet.cli.main import main
from collectorfleet_api import names

pytestmark = pytest.mark.usefixtures("fleet_operator")

CHECKPOINT = {"claimName": "runs"}
TRAIN = {"function": "training:train"}


def asked(fleet: Object) -> str:
    """The driver that is asked to end; KeyError if none is."""
    orders = fleet["status"]["orders"]
    assert orders["stopAtBatch"]
    return str(orders["driver"])


def uid(plane: ControlPlane, target: str, namespace: str) -> str:
    return str(plane.get(target, namespace)["metadata"]["uid"])


def test_a_suspended_fleet_has_no_pods_and_a_resumed_one_has_them_again(
    control_plane: ControlPlane, namespace: str
) -> None:
    plane = control_plane
    pods, _ = played.start(plane, namespace)
    (driver,) = pods.of("driver")
    plane.kubectl("patch", "cfleet/fleet", "-n", namespace, "--type=merge", "-p", '{"spec":{"suspend":true}}')
    fleet = plane.wait_for("cfleet/fleet", lambda found: asked(found) != "", namespace)
    assert asked(fleet) == driver["metadata"]["name"]
    assert told(fleet, "Suspended") == ("False", "Suspending")
    pods.end(driver, names.EXIT_STOPPED, "stopped: the operator asked the driver to end after its batch")
    fleet = plane.wait_for("cfleet/fleet", "Suspended", namespace)
    assert pods.of("head") + pods.of("worker") + pods.of("driver") == []
    assert "orders" not in fleet["status"]
    assert fleet["status"]["phase"] == "Suspended"
    # As kubectl wait and kstatus see it: an end.
    assert told(fleet, "Ready") == ("", "")
    assert told(fleet, "Reconciling")[0] == "False"
    plane.kubectl("patch", "cfleet/fleet", "-n", namespace, "--type=merge", "-p", '{"spec":{"suspend":false}}')
    for role in ("head", "worker", "driver"):
        pods.wait(role, 1)


def test_a_fleet_that_was_suspended_for_its_idle_timeout_has_pods_again_after_a_resume(
    control_plane: ControlPlane, namespace: str
) -> None:
    plane, pods = control_plane, Pods(control_plane, namespace)
    plane.apply(manifest(replicas=1, idleTimeoutSeconds=1), namespace)
    for role in ("head", "worker", "driver"):
        pods.run(role, 1)
    (driver,) = pods.of("driver")
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    summary = {"desired": 1, "available": 1, "summary": "1/1"}
    progress = {"batches": 3, "framesDelivered": 3600, "lastBatchTime": at, "collectors": summary}
    played.report(plane, namespace, available=1, progress=progress)
    plane.wait_for("cfleet/fleet", lambda found: asked(found) != "", namespace)
    pods.end(driver, names.EXIT_STOPPED)
    fleet = plane.wait_for("cfleet/fleet", "Suspended", namespace)
    assert told(fleet, "Suspended") == ("True", "IdleTimeout")
    assert main(["resume", "fleet", "--namespace", namespace, "--kubeconfig", str(plane.kubeconfig)]) == 0
    assert not plane.get("cfleet/fleet", namespace)["spec"].get("suspend")
    for role in ("head", "worker", "driver"):
        pods.wait(role, 1)


def test_a_rolling_update_asks_the_driver_and_keeps_the_raycluster(control_plane: ControlPlane, namespace: str) -> None:
    plane = control_plane
    rolling = {"updateStrategy": {"type": "RollingUpdate"}, "driver": {"train": TRAIN, "checkpoint": CHECKPOINT}}
    plane.apply(manifest(replicas=1, **rolling), namespace)
    pods = Pods(plane, namespace)
    for role in ("head", "worker", "driver"):
        pods.run(role, 1)
    played.report(plane, namespace, available=1)
    plane.wait_for("cfleet/fleet", "Ready", namespace)
    cluster, job = uid(plane, "raycluster/fleet", namespace), uid(plane, "job/fleet-driver", namespace)
    plane.apply(manifest(replicas=1, **rolling, collection={"framesPerBatch": 2400}), namespace)
    fleet = plane.wait_for("cfleet/fleet", lambda found: asked(found) != "", namespace)
    assert told(fleet, "UpToDate") == ("False", "Updating")
    (driver,) = pods.of("driver")
    pods.end(driver, names.EXIT_STOPPED)
    fleet = plane.wait_for("cfleet/fleet", "UpToDate", namespace)
    eventually(
        lambda: uid(plane, "job/fleet-driver", namespace),
        until=lambda found: found != job,
        within=30,
        what="another Job of the driver",
        tolerate=(KubernetesError,),  # between the two there is none
    )
    assert uid(plane, "raycluster/fleet", namespace) == cluster


def test_a_failed_fleet_is_tried_again_when_its_configmap_changes(control_plane: ControlPlane, namespace: str) -> None:
    plane = control_plane
    code = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "code"}, "data": {"envs.py": "import gim"}}
    plane.apply([code, manifest(replicas=1, code={"configMap": "code"})], namespace)
    pods = Pods(plane, namespace)
    for role in ("head", "worker", "driver"):
        pods.run(role, 1)
    job = uid(plane, "job/fleet-driver", namespace)
    (driver,) = pods.of("driver")
    pods.end(driver, names.EXIT_USER_ERROR, "No module named 'gim'")
    fleet = plane.wait_for("cfleet/fleet", "Stalled", namespace)
    assert "change the spec or ConfigMap code" in message(fleet, "Stalled")
    # Kubernetes tells whole seconds, and played pods fail within the one in which their Job was made.
    later = datetime.now(UTC) + timedelta(seconds=1)
    eventually(lambda: datetime.now(UTC), until=lambda now: now >= later, within=5, what="the next second")
    plane.apply({**code, "data": {"envs.py": "import gym"}}, namespace)
    eventually(
        lambda: uid(plane, "job/fleet-driver", namespace),
        until=lambda found: found != job,
        within=90,
        what="another try",
        tolerate=(KubernetesError,),
    )


def test_no_collectors_at_all_is_called_suspending(control_plane: ControlPlane, namespace: str) -> None:
    plane = control_plane
    plane.apply(manifest(replicas=1, suspend=True), namespace)
    plane.wait_for("cfleet/fleet", "Suspended", namespace)
    for change in (
        ("patch", "cfleet/fleet", "--type=merge", "-p", '{"spec":{"collectors":{"replicas":0}}}'),
        ("scale", "cfleet/fleet", "--replicas=0"),
    ):
        with pytest.raises(KubernetesError, match=r"set spec\.suspend to true"):
            plane.kubectl(*change, "-n", namespace)
