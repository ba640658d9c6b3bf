"""Groups of a fleet on a real API server with KubeRay: worker groups of their own, scaled by one number."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cluster.control_plane import ControlPlane
from tests.cluster.errors import KubernetesError
from tests.integration import played
from tests.integration.played import Pods, manifest, message

from collectorfleet_operator.children.group_sizes import sizes_of

pytestmark = pytest.mark.usefixtures("fleet_operator")

SMALL: dict[str, Any] = {"name": "small", "replicas": 3}
BIG: dict[str, Any] = {
    "name": "big",
    "environment": {"kwargs": {"size": 2}},
    "workers": {"template": {"spec": {"nodeSelector": {"pool": "big"}}}},
}


def fleet(replicas: int) -> dict[str, Any]:
    return manifest(collectors={"replicas": replicas, "groups": [SMALL, BIG]})


def counts(small: tuple[int, int], big: tuple[int, int]) -> dict[str, Any]:
    """The driver's numbers: available and desired of each group."""
    available, desired = small[0] + big[0], small[1] + big[1]
    rows = [{"name": name, "available": own[0], "desired": own[1]} for name, own in (("small", small), ("big", big))]
    found = {
        "available": available,
        "desired": desired,
        "summary": f"{available}/{desired}",
        "groups": rows,
        "groupsSummary": ", ".join(f"{row['name']} {row['available']}/{row['desired']}" for row in rows),
    }
    return {"batches": 3, "collectors": found}


def by_group(pods: Pods) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for pod in pods.of("worker"):
        found.setdefault(pod["metadata"]["labels"]["ray.io/group"], []).append(pod["metadata"]["name"])
    return found


def test_groups_have_pods_of_their_own_and_follow_one_number(control_plane: ControlPlane, namespace: str) -> None:
    with pytest.raises(
        KubernetesError, match="1, but the groups have 4 in total; set replicas to their sum, or change the groups"
    ):
        control_plane.apply(fleet(1), namespace)
    control_plane.apply(fleet(4), namespace)
    pods = Pods(control_plane, namespace)
    pods.run("head", 1)
    pods.run("worker", 4)
    pods.run("driver", 1)
    assert {name: len(found) for name, found in by_group(pods).items()} == {"small": 3, "big": 1}
    selectors = {
        pod["metadata"]["labels"]["ray.io/group"]: pod["spec"].get("nodeSelector") for pod in pods.of("worker")
    }
    assert selectors == {"small": None, "big": {"pool": "big"}}

    played.report(control_plane, namespace, available=3, progress=counts(small=(3, 3), big=(0, 1)))
    control_plane.wait_for("cfleet/fleet", lambda f: "(big 0 of 1)" in message(f, "CollectorsAvailable"), namespace)
    shown = control_plane.kubectl("get", "cfleet/fleet", "-o", "wide", "-n", namespace)
    assert "small 3/3, big 0/1" in shown
    seen = control_plane.wait_for(
        "cfleet/fleet", lambda f: len(f["status"].get("rayCluster", {}).get("groups", [])) == 2, namespace
    )
    assert {one["name"]: one["workerPods"]["desired"] for one in seen["status"]["rayCluster"]["groups"]} == {
        "small": 3,
        "big": 1,
    }

    # Up in proportion, and down to fewer than there are groups: nothing refuses what is asked for.
    control_plane.kubectl("scale", "cfleet/fleet", "--replicas=8", "-n", namespace)
    pods.run("worker", 8)
    assert {name: len(found) for name, found in by_group(pods).items()} == {"small": 6, "big": 2}
    control_plane.kubectl("scale", "cfleet/fleet", "--replicas=1", "-n", namespace)
    played.report(control_plane, namespace, available=1, progress=counts(small=(1, 1), big=(0, 0)))
    control_plane.wait_for(
        "raycluster/fleet", lambda c: {n: s.pods for n, s in sizes_of(c).items()} == {"small": 1, "big": 0}, namespace
    )
    # KubeRay deletes the pods that are named, of each group.
    pods.wait("worker", 1)
    assert list(by_group(pods)) == ["small"]
