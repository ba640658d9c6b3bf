"""A driver that sleeps on a node that is cut off, and wakes after another driver has taken over its fleet."""

from __future__ import annotations

import time

from tests.cluster.client import Object
from tests.cluster.cluster import Cluster
from tests.e2e import fleets
from tests.faults.places import on
from tests.faults.table import Costs
from tests.faults.waits import STARTED_WITHIN, another_runs, driver_process, goes_on, running
from tests.paused import go_on, pause
from tests.wait import eventually

FRAMES = 200
NODE = "node2"
# Kubernetes calls a silent node lost after 50 s, and our pods leave it 30 s later.
TAKEN_OVER_WITHIN = 240
SENTENCE = "another driver has taken over the folder"


def test_a_driver_that_wakes_after_another_has_taken_over_changes_no_checkpoint(
    own_cluster: Cluster, namespace: str, claim: str, costs: Costs
) -> None:
    cluster = own_cluster
    fleet = fleets.fleet(train="workload:train_and_keep", frames=FRAMES)
    fleet["spec"]["driver"] |= {"checkpoint": {"claimName": claim, "everySeconds": 1}, "template": on(NODE)}
    fleet["spec"]["workers"] = {"template": on("node1")}
    fleet["spec"]["ray"] = fleet["spec"].get("ray", {}) | {"head": {"template": on("node1")}}
    cluster.apply([fleets.code(), fleet], namespace)
    before = cluster.wait_for(
        "cfleet/fleet",
        lambda f: f["status"].get("checkpoint", {}).get("frames", 0) >= 3 * FRAMES,
        namespace,
        within=STARTED_WITHIN,
    )["status"]
    [driver] = running(cluster, namespace, "driver")
    pod: Object = cluster.get(f"pod/{driver}", namespace)
    assert pod["spec"]["nodeName"] == NODE
    process = driver_process(driver)
    pause(process)
    began = time.monotonic()
    cluster.cut(NODE)
    try:
        eventually(
            lambda: running(cluster, namespace, "driver"),
            until=lambda now: bool(now) and driver not in now,
            within=TAKEN_OVER_WITHIN,
            what="another driver",
        )
        another_runs(cluster, namespace, "driver", driver)
        # The first driver wrote checkpoints until it slept, and the next one repeats the newest of them in its report.
        kept = int(cluster.get("cfleet/fleet", namespace)["status"]["checkpoint"]["frames"])

        def has_written(found: Object) -> bool:
            status = found["status"]
            is_next = status["driverIncarnation"] > before["driverIncarnation"]
            return bool(is_next and status["checkpoint"]["frames"] > kept)

        cluster.wait_for("cfleet/fleet", has_written, namespace, within=240)
        seconds = time.monotonic() - began
        # It still has the volume, and cannot ask the API server.
        go_on(process)
        eventually(lambda: SENTENCE in cluster.log(pod, "driver"), within=120, what=f"{driver} says: {SENTENCE}")
        after = goes_on(cluster, namespace)
    finally:
        cluster.heal(NODE)
    # Cut off, it waits for answers of Ray and of the API server before it ends.
    eventually(lambda: not cluster.lives(pod), within=240, what=f"{driver} ended")
    cluster.wait_for(f"node/{NODE}", "Ready", within=120)
    progress = after["status"]["progress"]
    assert after["status"]["checkpoint"]["frames"] > kept
    assert progress["framesDelivered"] == progress["batches"] * FRAMES
    assert progress["metrics"]["resumed"] == 1
    costs.add(
        "a driver sleeps on a node that is cut off, and wakes after another has taken over",
        f"its log: {SENTENCE}",
        f"the next driver wrote a checkpoint {seconds:.0f} s after the cut",
        after,
    )
