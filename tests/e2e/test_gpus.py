"""How worker pods get GPUs, on nodes that offer them in name only: rendered and scheduled, not executed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cluster.client import Object, condition
from tests.cluster.cluster import Cluster
from tests.e2e import fleets
from tests.wait import eventually

from collectorfleet_api.names import ROLE_LABEL

SHARED = {"MIG": "nvidia.com/mig-1g.10gb.me", "TimeSlicing": "nvidia.com/gpu.shared"}
DRIVER = "gpus.example.com"


def with_gpus(gpu: dict[str, Any], template: dict[str, Any] | None = None) -> Object:
    """Two collectors with half a GPU each, so one pod."""
    made = fleets.fleet(replicas=2)
    made["spec"]["collectors"]["resources"]["gpu"] = 0.5
    made["spec"]["workers"] = {"gpu": gpu, "template": template or {}}
    return made


def collecting(fleet: Object) -> bool:
    return int(fleet["status"]["progress"]["batches"]) >= 2


def limits_of_the_scheduled(cluster: Cluster, namespace: str, role: str = "worker") -> dict[str, str]:
    """Return what the only pod of a role requests, once it has a node."""
    (pod,) = eventually(
        lambda: cluster.items("pods", namespace, f"{ROLE_LABEL}={role}"),
        until=lambda found: [scheduled(one) for one in found] == [True],
        within=120,
        what=f"a {role} pod with a node",
    )
    limits: dict[str, str] = pod["spec"]["containers"][0]["resources"]["limits"]
    return limits


def test_collectors_share_what_a_node_offers(own_cluster: Cluster, namespace: str) -> None:
    own_cluster.add_gpus("node1", 1, SHARED["MIG"])
    own_cluster.apply([fleets.code(), with_gpus({"mode": "MIG", "resource": SHARED["MIG"]})], namespace)
    # Ray takes none of these for a GPU by itself; that both collectors of half a GPU run says that it was told.
    own_cluster.wait_for("cfleet/fleet", collecting, namespace, within=400)


def test_time_slices_are_what_pods_are_scheduled_by(own_cluster: Cluster, namespace: str) -> None:
    own_cluster.add_gpus("node1", 1, SHARED["TimeSlicing"])
    shared = {"mode": "TimeSlicing", "resource": SHARED["TimeSlicing"]}
    own_cluster.apply([fleets.code(), with_gpus(shared)], namespace)
    assert limits_of_the_scheduled(own_cluster, namespace)[SHARED["TimeSlicing"]] == "1"
    (group,) = own_cluster.get("raycluster/fleet", namespace)["spec"]["workerGroupSpecs"]
    assert group["rayStartParams"]["num-gpus"] == "1"


def test_evaluators_share_the_gpu_of_one_pod(own_cluster: Cluster, namespace: str) -> None:
    own_cluster.add_gpus("node1", 1)
    made = fleets.fleet()
    # Torch finds no GPU there, so no evaluation finishes.
    made["spec"]["evaluation"] = {"replicas": 2, "resources": {"cpu": "100m", "memory": "1Gi", "gpu": 0.5}}
    own_cluster.apply([fleets.code(), made], namespace)
    assert limits_of_the_scheduled(own_cluster, namespace, "evaluator")["nvidia.com/gpu"] == "1"
    assert "nvidia.com/gpu" not in limits_of_the_scheduled(own_cluster, namespace)


def test_with_mode_none_the_template_is_what_pods_are_scheduled_by(own_cluster: Cluster, namespace: str) -> None:
    own_cluster.add_gpus("node1", 1, "amd.com/gpu")
    asking = {"spec": {"containers": [{"name": "ray-worker", "resources": {"limits": {"amd.com/gpu": 1}}}]}}
    own_cluster.apply([fleets.code(), with_gpus({"mode": "None"}, asking)], namespace)
    assert limits_of_the_scheduled(own_cluster, namespace)["amd.com/gpu"] == "1"


def test_a_claim_of_devices_is_allocated_before_the_pod_is_scheduled(own_cluster: Cluster, namespace: str) -> None:
    if "resource.k8s.io/v1\n" not in own_cluster.kubectl("api-versions"):
        pytest.skip("left out: this Kubernetes has no resource.k8s.io/v1, which is of 1.34")
    own_cluster.apply(
        [*devices("node1"), fleets.code(), with_gpus({"mode": "DRA", "claimTemplate": "half"})], namespace
    )
    try:
        own_cluster.wait_for("resourceclaim", allocated, namespace, within=240)
        limits_of_the_scheduled(own_cluster, namespace)
    finally:
        own_cluster.delete("cfleet/fleet", namespace)
        own_cluster.delete("resourceslice/node1-gpus")
        own_cluster.delete(f"deviceclass/{DRIVER}")


def devices(node: str) -> list[Object]:
    """One device on a node, a class of such devices, and a template for claims of one."""
    return [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": DRIVER},
            "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{DRIVER}'"}}]},
        },
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": f"{node}-gpus"},
            "spec": {
                "driver": DRIVER,
                "nodeName": node,
                "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
                "devices": [{"name": "gpu-0"}],
            },
        },
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": "half"},
            "spec": {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": DRIVER}}]}}},
        },
    ]


def allocated(claims: Object) -> bool:
    results = [one for claim in claims["items"] for one in claim["status"]["allocation"]["devices"]["results"]]
    return [one["device"] for one in results] == ["gpu-0"]


def scheduled(pod: Object) -> bool:
    found = condition(pod, "PodScheduled")
    return found is not None and found["status"] == "True"
