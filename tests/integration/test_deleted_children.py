"""What somebody deletes of a fleet is there again within seconds, on a real API server."""

from __future__ import annotations

import json

import pytest
from tests.cluster.client import Object
from tests.cluster.control_plane import ControlPlane
from tests.integration import played
from tests.integration.played import Pods, told
from tests.wait import eventually

from collectorfleet_operator.edge.ticks import TICK_SECONDS

pytestmark = pytest.mark.usefixtures("fleet_operator")

# On a machine that does other things, too. A deleted pod would have 30 s.
SOON = 20.0


def uid(plane: ControlPlane, target: str, namespace: str) -> str:
    found = plane.find(target, namespace)
    return str(found["metadata"]["uid"]) if found else ""


def is_back(plane: ControlPlane, target: str, namespace: str, before: str, within: float) -> None:
    eventually(
        lambda: uid(plane, target, namespace), until=lambda now: now not in ("", before), within=within, what=target
    )


def put_on_a_node(plane: ControlPlane, namespace: str, pod: Object) -> None:
    """Without a node, a pod is gone as soon as it is deleted."""
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod["metadata"]["name"]},
        "target": {"kind": "Node", "name": "node1"},
    }
    plane.kubectl("create", "-n", namespace, "-f", "-", input=json.dumps(binding))


def take_lease(plane: ControlPlane, namespace: str, pods: Pods) -> None:
    [driver] = pods.of("driver")
    spec = {"holderIdentity": driver["metadata"]["name"], "renewTime": "2026-07-01T12:00:00.000000Z"}
    plane.kubectl("patch", "lease/fleet-driver", "-n", namespace, "--type=merge", "-p", json.dumps({"spec": spec}))


@pytest.mark.parametrize("child", ["role", "rolebinding"])
def test_rights_of_a_driver_are_back_at_once(control_plane: ControlPlane, namespace: str, child: str) -> None:
    played.start(control_plane, namespace)
    target = f"{child}/fleet-driver"
    before = uid(control_plane, target, namespace)
    control_plane.delete(target, namespace)
    is_back(control_plane, target, namespace, before, SOON)


def test_a_deleted_raycluster_is_back_before_the_grace_of_its_pods_is_over(
    control_plane: ControlPlane, namespace: str
) -> None:
    pods, _ = played.start(control_plane, namespace)
    take_lease(control_plane, namespace, pods)
    [worker] = pods.of("worker")
    put_on_a_node(control_plane, namespace, worker)
    before = {one: uid(control_plane, one, namespace) for one in ("raycluster/fleet", "job/fleet-driver")}
    control_plane.delete("raycluster/fleet", namespace, wait=False)
    is_back(control_plane, "job/fleet-driver", namespace, before["job/fleet-driver"], SOON + TICK_SECONDS)
    name = f"pod/{worker['metadata']['name']}"
    # It would have 30 s.
    control_plane.wait_for(name, lambda pod: pod["metadata"]["deletionGracePeriodSeconds"] == 1, namespace, within=SOON)
    control_plane.wait_for(
        "cfleet/fleet", lambda f: told(f, "Ready") == ("False", "WaitingForDeletion"), namespace, within=SOON
    )
    # The kubelet ends it.
    control_plane.kubectl("delete", name, "-n", namespace, "--grace-period=0", "--force", "--wait=false")
    is_back(control_plane, "raycluster/fleet", namespace, before["raycluster/fleet"], SOON)
    after = control_plane.get("cfleet/fleet", namespace)
    assert told(after, "Ready")[0] == "False"
    assert after["status"]["driver"]["restarts"] == 0
