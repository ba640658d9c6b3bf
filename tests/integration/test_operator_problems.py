"""What a fleet's conditions say when something is wrong, in the words of those who found it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.cluster.client import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.process import Component
from tests.integration import played
from tests.integration.played import Pods, manifest, message, report, told
from tests.wait import eventually

from collectorfleet_api import names

TRAINS = {"train": {"function": "training:train"}}


@pytest.fixture(scope="module")
def silent_fleet(control_plane: ControlPlane, fleet_operator: Component) -> Iterator[str]:
    """The namespace of a fleet whose driver renews its Lease once. It is lost while the tests before the last run."""
    with control_plane.temporary_namespace("silent") as namespace:
        control_plane.apply(manifest(replicas=1), namespace)
        pods = Pods(control_plane, namespace)
        for role in ("head", "worker", "driver"):
            pods.run(role, 1)
        report(control_plane, namespace, available=1)
        renew(control_plane, namespace, "12:00:00")
        control_plane.wait_for("cfleet/fleet", "Ready", namespace)
        yield namespace


pytestmark = pytest.mark.usefixtures("silent_fleet")


def test_what_only_the_operator_can_see_is_an_invalid_spec(control_plane: ControlPlane, namespace: str) -> None:
    train = {"function": "training:train"}
    control_plane.apply(manifest(driver={"train": train, "resources": {"memory": "10k"}}), namespace)
    seen = control_plane.wait_for("cfleet/fleet", "Stalled", namespace)
    assert told(seen, "Ready") == ("False", "InvalidSpec")
    assert "spec.driver.resources.memory: 10k is 10000 bytes" in message(seen, "Stalled")
    assert control_plane.find("raycluster/fleet", namespace) is None
    assert control_plane.find("job/fleet-driver", namespace) is None

    control_plane.apply(manifest(driver={"train": train, "resources": {"memory": "1Gi"}}), namespace)
    Pods(control_plane, namespace).wait("head", 1)
    control_plane.wait_for("cfleet/fleet", lambda f: told(f, "Stalled") == ("False", "Progressing"), namespace)


def test_a_stored_fleet_that_cannot_be_read_says_why(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.apply(manifest(collectors={"replicas": 2, "resources": {"cpu": {}}}), namespace)
    seen = control_plane.wait_for("cfleet/fleet", "Stalled", namespace)
    assert told(seen, "Ready") == ("False", "InvalidSpec")
    assert "spec.collectors.resources.cpu" in message(seen, "Stalled")
    assert seen["status"]["observedGeneration"] == 1


def test_pods_of_a_fleet_fit_the_restricted_pod_security_standard(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    control_plane.apply(manifest(replicas=1, code={"configMap": "code"}), namespace)
    pods = Pods(control_plane, namespace)
    for role in ("head", "worker", "driver"):
        pods.wait(role, 1)


def test_a_pod_template_that_kubernetes_does_not_know_is_refused_in_its_words(
    control_plane: ControlPlane, namespace: str
) -> None:
    template = {"spec": {"nodeSelectr": {"gpu": "a100"}}}
    control_plane.apply(manifest(workers={"template": template}), namespace)
    seen = control_plane.wait_for("cfleet/fleet", "Stalled", namespace)
    assert told(seen, "RayClusterReady") == ("False", "Refused")
    assert "nodeSelectr" in message(seen, "Ready")


def test_an_image_that_cannot_be_pulled_reaches_the_condition(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.apply(manifest(), namespace)
    pods = Pods(control_plane, namespace)
    pods.run("head", 1)
    pods.wait("worker", 2)
    pods.hold_up("worker", "ErrImagePull", "test.local/fleet:1: not found")
    # The pods are held up one after the other, and the operator may look in between.
    words = "2 of 2 worker pods: test.local/fleet:1: not found"
    seen = control_plane.wait_for("cfleet/fleet", lambda f: message(f, "Ready") == words, namespace, within=60)
    assert told(seen, "RayClusterReady") == ("False", "ImagePullBackOff")


def test_an_error_of_the_users_code_fails_the_fleet_once(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.apply(manifest(), namespace)
    pods = Pods(control_plane, namespace)
    pods.run("driver", 1)
    cause = "environment envs:make (collector c0): ValueError: no such game"
    pods.end(pods.of("driver")[0], 64, f"{cause}\nTraceback (most recent call last):\n  ...")
    failed = control_plane.wait_for("cfleet/fleet", "Stalled", namespace)
    for condition in ("Ready", "Stalled", "Completed"):
        assert message(failed, condition).startswith(cause)
    assert told(failed, "Completed") == ("False", "Failed")
    assert failed["status"]["phase"] == "Failed"
    control_plane.wait_gone("raycluster/fleet", namespace)
    assert [pod["metadata"]["name"] for pod in pods.of("driver")] == [failed["status"]["driver"]["pod"]]

    # Another try: the spec is changed.
    control_plane.apply(manifest(environment={"factory": "envs:other"}), namespace)
    pods.wait("head", 1)
    again = control_plane.wait_for("cfleet/fleet", lambda f: told(f, "Stalled")[0] == "False", namespace)
    assert again["status"]["phase"] in ("Pending", "Starting")


def test_a_driver_lost_to_infrastructure_is_tried_again(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.apply(manifest(), namespace)
    pods = Pods(control_plane, namespace)
    pods.run("driver", 1)
    (first,) = pods.of("driver")
    pods.end(first, 1, "the head is gone")
    seen = control_plane.wait_for("cfleet/fleet", lambda f: told(f, "DriverRunning")[1] == "Restarting", namespace)
    assert "the head is gone" in message(seen, "Ready")
    assert told(seen, "Stalled")[0] == "False"
    pods.wait("driver", 2)


def test_a_driver_that_ends_by_sigterm_is_followed_by_another_and_not_counted(
    control_plane: ControlPlane, namespace: str
) -> None:
    pods, _ = played.start(control_plane, namespace)
    (driver,) = pods.of("driver")
    pods.end(driver, names.EXIT_SIGTERM, "stopped: SIGTERM")
    eventually(
        lambda: [pod["metadata"]["name"] for pod in pods.of("driver") if pod["status"]["phase"] == "Pending"],
        within=30,
        what="another driver pod",
    )
    seen = control_plane.wait_for("cfleet/fleet", lambda f: told(f, "DriverRunning")[1] == "Starting", namespace)
    assert seen["status"]["driver"]["restarts"] == 0
    assert control_plane.get("job/fleet-driver", namespace)["status"].get("failed", 0) == 0


def test_a_driver_whose_pod_is_deleted_gets_a_new_job_and_is_not_counted(
    control_plane: ControlPlane, namespace: str
) -> None:
    pods, _ = played.start(control_plane, namespace)
    (driver,) = pods.of("driver")
    job = control_plane.get("job/fleet-driver", namespace)["metadata"]["uid"]
    going = f"pod/{driver['metadata']['name']}"
    # The pod has its grace period, as with a kubelet.
    control_plane.kubectl("patch", going, "-n", namespace, "-p", '{"metadata": {"finalizers": ["test.local/grace"]}}')
    control_plane.kubectl("delete", going, "-n", namespace, "--wait=false")
    pods.end(driver, names.EXIT_SIGTERM, "stopped: SIGTERM")
    control_plane.wait_for("job/fleet-driver", lambda one: one["metadata"]["uid"] != job, namespace, within=30)
    control_plane.kubectl("patch", going, "-n", namespace, "-p", '{"metadata": {"finalizers": null}}')
    pods.run("driver", 1)
    assert restarts_of_the_next(control_plane, namespace, driver) == 0


def test_a_driver_whose_head_goes_is_asked_to_stop_and_another_starts_beside_the_next_head(
    control_plane: ControlPlane, namespace: str
) -> None:
    control_plane.apply(manifest(replicas=1, driver={**TRAINS, "checkpoint": {"claimName": "runs"}}), namespace)
    pods = Pods(control_plane, namespace)
    for role in ("head", "worker", "driver"):
        pods.run(role, 1)
    report(control_plane, namespace, available=1)
    control_plane.wait_for("cfleet/fleet", "Ready", namespace)
    job = control_plane.get("job/fleet-driver", namespace)["metadata"]["uid"]
    (driver,), (head,) = pods.of("driver"), pods.of("head")
    going = f"pod/{head['metadata']['name']}"
    # It has its grace, as with a kubelet.
    control_plane.kubectl("patch", going, "-n", namespace, "-p", '{"metadata": {"finalizers": ["test.local/grace"]}}')
    control_plane.kubectl("delete", going, "-n", namespace, "--wait=false")
    asked = control_plane.wait_for("cfleet/fleet", lambda f: f["status"]["orders"]["stopAtBatch"], namespace, within=60)
    assert asked["status"]["orders"]["driver"] == driver["metadata"]["name"]
    control_plane.kubectl("patch", going, "-n", namespace, "-p", '{"metadata": {"finalizers": null}}')
    pods.end(driver, names.EXIT_STOPPED, "stopped: the operator asked the driver to end after its batch")
    control_plane.wait_for("job/fleet-driver", lambda one: one["metadata"]["uid"] != job, namespace, within=30)
    pods.run("head", 1)
    pods.run("driver", 1)
    assert restarts_of_the_next(control_plane, namespace, driver) == 0


def test_a_quota_that_lets_no_pod_in_is_quoted(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.kubectl("create", "quota", "none", "--hard=pods=0", "-n", namespace)
    control_plane.wait_for("quota/none", lambda q: "pods" in q["status"]["hard"], namespace)
    control_plane.apply(manifest(), namespace)
    control_plane.wait_for(
        "cfleet/fleet",
        lambda f: "exceeded quota" in message(f, "DriverRunning") and "exceeded quota" in message(f, "RayClusterReady"),
        namespace,
        within=30,
    )


def test_a_raycluster_of_somebody_else_is_left_alone(control_plane: ControlPlane, namespace: str) -> None:
    container = {"name": "ray", "image": "test.local/theirs:1"}
    theirs = {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": "fleet"},
        "spec": {"headGroupSpec": {"rayStartParams": {}, "template": {"spec": {"containers": [container]}}}},
    }
    control_plane.apply(theirs, namespace)
    before = control_plane.get("raycluster/fleet", namespace)
    control_plane.apply(manifest(), namespace)
    seen = control_plane.wait_for("cfleet/fleet", "Stalled", namespace)
    assert told(seen, "RayClusterReady") == ("False", "NameTaken")
    after = control_plane.get("raycluster/fleet", namespace)
    assert (after["spec"], after["metadata"]["uid"]) == (before["spec"], before["metadata"]["uid"])
    control_plane.delete("cfleet/fleet", namespace)
    assert control_plane.find("raycluster/fleet", namespace) is not None


def test_a_driver_that_falls_silent_is_lost_although_nothing_happens_and_found_when_it_renews(
    control_plane: ControlPlane, silent_fleet: str
) -> None:
    # On a busy machine, lists of Leases are rare, and of the time between two lists only 10 s count.
    lost = control_plane.wait_for("cfleet/fleet", lambda f: told(f, "Ready")[0] == "False", silent_fleet, within=180)
    assert told(lost, "DriverRunning") == ("False", "DriverLost")
    renew(control_plane, silent_fleet, "12:01:00")
    control_plane.wait_for("cfleet/fleet", "Ready", silent_fleet, within=60)


def restarts_of_the_next(plane: ControlPlane, namespace: str, before: Object) -> int:
    """Return the restarts in the status, once the status names another driver pod than ``before``.

    Between two Jobs, the status has no driver. Earlier, it has the restarts of the driver before.
    """
    name = before["metadata"]["name"]
    seen = plane.wait_for("cfleet/fleet", lambda f: f["status"]["driver"]["pod"] != name, namespace)
    return int(seen["status"]["driver"]["restarts"])


def renew(plane: ControlPlane, namespace: str, time: str) -> None:
    (driver,) = Pods(plane, namespace).of("driver")
    spec = {"holderIdentity": driver["metadata"]["name"], "renewTime": f"2026-01-01T{time}.000000Z"}
    plane.kubectl("patch", "lease/fleet-driver", "-n", namespace, "--type=merge", "-p", json.dumps({"spec": spec}))
