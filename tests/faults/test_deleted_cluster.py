"""Somebody deletes the RayCluster of a fleet that trains on two nodes."""

from __future__ import annotations

import time

import pytest
from tests.cluster.client import Object, condition
from tests.cluster.cluster import Cluster
from tests.e2e import fleets
from tests.faults.places import on
from tests.faults.table import Costs
from tests.faults.waits import STARTED_WITHIN, goes_on
from tests.fleet_status import batches
from tests.wait import eventually

FRAMES = 200
# Worker pods have it by default. The operator waited for all of it before it made the next RayCluster.
GRACE_SECONDS = 30


def is_ready(fleet: Object) -> bool:
    return (condition(fleet, "Ready") or {}).get("status") == "True"


@pytest.mark.parametrize("resumes", [True, False], ids=["with a checkpoint", "without a checkpoint"])
def test_a_raycluster_that_is_deleted_is_made_again_before_the_grace_of_its_pods_is_over(
    own_cluster: Cluster, namespace: str, claim: str, costs: Costs, resumes: bool
) -> None:
    cluster = own_cluster
    fleet = fleets.fleet(train="workload:train_and_keep" if resumes else "workload:train", frames=FRAMES, replicas=2)
    if resumes:
        fleet["spec"]["driver"]["checkpoint"] = {"claimName": claim, "everySeconds": 1}
    fleet["spec"]["workers"] = {"template": on("node2")}
    cluster.apply([fleets.code(), fleet], namespace)
    before = cluster.wait_for(
        "cfleet/fleet", lambda f: is_ready(f) and batches(f) >= 5, namespace, within=STARTED_WITHIN
    )
    uid = cluster.get("raycluster/fleet", namespace)["metadata"]["uid"]
    began = time.monotonic()
    cluster.kubectl("delete", "raycluster/fleet", "-n", namespace, "--wait=false")
    cluster.wait_for("cfleet/fleet", lambda f: not is_ready(f), namespace, within=GRACE_SECONDS)
    told = time.monotonic() - began

    def another() -> bool:
        found = cluster.find("raycluster/fleet", namespace)
        return found is not None and found["metadata"]["uid"] != uid

    eventually(another, within=GRACE_SECONDS - told, what="another RayCluster")
    made = time.monotonic() - began
    incarnation = before["status"]["driverIncarnation"] + 1

    def collects(found: Object) -> bool:
        return is_ready(found) and found["status"]["driverIncarnation"] == incarnation

    cluster.wait_for("cfleet/fleet", collects, namespace, within=STARTED_WITHIN)
    seconds = time.monotonic() - began
    after = goes_on(cluster, namespace)
    progress = after["status"]["progress"]
    assert progress["framesDelivered"] == progress["batches"] * FRAMES
    # No try of backoffLimit.
    assert after["status"]["driver"]["restarts"] == 0
    if resumes:
        assert progress["framesLost"] == 0
    costs.add(
        f"the RayCluster is deleted, {'with' if resumes else 'without'} `driver.checkpoint`",
        f"Ready=False after {told:.0f} s",
        f"made again after {made:.0f} s; Ready after {seconds:.0f} s",
        after,
    )
