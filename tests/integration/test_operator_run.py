"""A fleet's life as the operator sees it: made at once, true while it runs, over when the driver is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.cluster.client import Object, condition
from tests.cluster.control_plane import ControlPlane
from tests.cluster.process import Component
from tests.integration import played
from tests.integration.operator_process import operator
from tests.integration.played import Pods, manifest
from tests.wait import eventually

CHILDREN = "raycluster,job,serviceaccount,role,rolebinding,lease"


@pytest.fixture(scope="module")
def running_operator(
    control_plane: ControlPlane, fleet_crd: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Component]:
    with operator(control_plane, tmp_path_factory.mktemp("operator")) as process:
        yield process


pytestmark = pytest.mark.usefixtures("running_operator")


def told(fleet: Object, type_: str) -> tuple[str, str]:
    found = condition(fleet, type_) or {}
    return found.get("status", ""), found.get("reason", "")


def test_a_fleet_becomes_all_its_children_and_deleting_it_leaves_nothing(
    control_plane: ControlPlane, namespace: str
) -> None:
    control_plane.apply(manifest(replicas=2), namespace)
    pods = Pods(control_plane, namespace)
    pods.wait("head", 1)
    pods.wait("worker", 2)
    pods.wait("driver", 1)
    fleet = control_plane.wait_for("cfleet/fleet", lambda f: f["status"]["observedGeneration"] == 1, namespace)
    assert "finalizers" not in fleet["metadata"]
    assert "annotations" not in fleet["metadata"]
    owned = control_plane.items(CHILDREN, namespace)
    assert {o["kind"] for o in owned if o["metadata"]["name"].startswith("fleet")} == {
        *("RayCluster", "Job", "ServiceAccount", "Role", "RoleBinding", "Lease")
    }
    control_plane.delete("cfleet/fleet", namespace)
    eventually(
        lambda: [
            o["metadata"]["name"]
            for o in control_plane.items(f"{CHILDREN},pods,secrets", namespace)
            if o["metadata"]["name"].startswith("fleet")
        ],
        until=lambda left: not left,
        within=60,  # the garbage collector looks for new kinds every 30 s
        what="children gone",
    )


def test_ready_follows_the_collectors_and_the_end_frees_the_cluster(
    control_plane: ControlPlane, namespace: str
) -> None:
    control_plane.apply(manifest(replicas=2), namespace)
    pods = Pods(control_plane, namespace)
    fleet = control_plane.wait_for("cfleet/fleet", lambda f: bool(pods.of("worker")), namespace)
    pods.run("head", 1)
    pods.run("worker", 2)
    control_plane.wait_for("cfleet/fleet", "RayClusterReady", namespace)
    pods.run("driver", 1)
    control_plane.wait_for("cfleet/fleet", "DriverRunning", namespace)
    played.report(control_plane, namespace, available=2)
    fleet = control_plane.wait_for("cfleet/fleet", "Ready", namespace)
    assert fleet["status"]["phase"] == "Collecting"
    assert fleet["status"]["replicas"] == 2
    assert told(fleet, "Reconciling") == ("False", "AllAvailable")

    pods.end(pods.of("driver")[0], 0)
    done = control_plane.wait_for("cfleet/fleet", "Completed", namespace)
    assert told(done, "Ready") == ("True", "Completed")
    assert done["status"]["phase"] == "Completed"
    control_plane.wait_gone("raycluster/fleet", namespace)
    assert control_plane.find("job/fleet-driver", namespace) is not None
