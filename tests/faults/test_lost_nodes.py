"""A node that is cut off for good, at Kubernetes' own defaults: whatever ran on it goes on elsewhere, by itself."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.cluster.client import Object, condition
from tests.cluster.cluster import Cluster
from tests.e2e import fleets
from tests.wait import eventually

FRAMES = 200
# Kubernetes calls a silent node lost after 50 s, and our pods leave it 30 s later.
EVICTED_WITHIN = 150


def on(node: str) -> dict[str, Any]:
    """A pod template that prefers a node and does without it."""
    wanted = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
    preferred = [{"weight": 100, "preference": wanted}]
    return {
        "spec": {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}},
    }


def spread(claim: str, away: str) -> Object:
    """A fleet of which the pods of the role ``away`` are on the second node."""
    fleet = fleets.fleet(train="workload:train_and_keep", frames=FRAMES)
    spec, place = (
        fleet["spec"],
        {role: on("node2" if role == away else "node1") for role in ("driver", "head", "worker")},
    )
    spec["driver"] |= {"checkpoint": {"claimName": claim, "everySeconds": 1}, "template": place["driver"]}
    spec["ray"] = {"head": {"template": place["head"]}}
    spec["workers"] = {"template": place["worker"]}
    return fleet


def of_fleet(event: Object) -> bool:
    return bool(event["involvedObject"]["kind"] == "CollectorFleet")


@pytest.fixture
def lost_node(own_cluster: Cluster) -> Iterator[str]:
    """A node to cut; it is back when the test is over."""
    yield "node2"
    own_cluster.heal("node2")
    own_cluster.wait_for("node/node2", "Ready", within=120)


@pytest.mark.parametrize("role", ["worker", "driver", "head"])
def test_what_ran_on_a_lost_node_goes_on_elsewhere(
    own_cluster: Cluster, namespace: str, claim: str, lost_node: str, role: str
) -> None:
    cluster, selector = own_cluster, f"collectorfleet.dev/role={role}"
    cluster.apply([fleets.code(), spread(claim, role)], namespace)
    before = cluster.wait_for(
        "cfleet/fleet", lambda f: f["status"]["checkpoint"]["frames"] >= 3 * FRAMES, namespace, within=180
    )
    [pod] = cluster.items("pods", namespace, selector)
    name = pod["metadata"]["name"]
    assert pod["spec"]["nodeName"] == lost_node
    cluster.cut(lost_node)

    def is_evicted() -> bool:
        found = cluster.find(f"pod/{name}", namespace)
        return found is None or bool(found["metadata"].get("deletionTimestamp"))

    eventually(is_evicted, within=EVICTED_WITHIN, what=f"{name} evicted")
    evicted = time.monotonic()

    def is_told() -> bool:
        told = [event["message"] for event in cluster.items("events", namespace) if of_fleet(event)]
        return any(name in one and lost_node in one for one in told)

    eventually(is_told, within=60, what=f"an event that names {name} and {lost_node}")

    def collects(fleet: Object) -> bool:
        status = fleet["status"]
        ready = (condition(fleet, "Ready") or {}).get("status") == "True"
        return ready and status["progress"]["lastBatchTime"] > before["status"]["progress"]["lastBatchTime"]

    cluster.wait_gone(f"pod/{name}", namespace, within=60)
    after = cluster.wait_for("cfleet/fleet", collects, namespace, within=120)
    print(f"{role}: collects again {time.monotonic() - evicted:.0f} s after the eviction")
    progress = after["status"]["progress"]
    assert progress["framesDelivered"] >= before["status"]["checkpoint"]["frames"]
    nodes = {p["spec"]["nodeName"] for p in cluster.items("pods", namespace)}
    assert nodes == {"node1"}
