"""A driver that hangs as a whole: the operator replaces it, and the next driver resumes from the checkpoint."""

from __future__ import annotations

import time

from tests.cluster.client import Object, condition
from tests.cluster.cluster import Cluster
from tests.e2e import fleets
from tests.faults.table import Costs
from tests.faults.waits import STARTED_WITHIN, another_runs, driver_process, goes_on, running
from tests.fleet_status import batches
from tests.paused import pause
from tests.wait import eventually

from collectorfleet.pod.lease import RENEW_SECONDS

FRAMES = 200
DEADLINE_SECONDS = 60
GRACE_SECONDS = 10


def test_a_driver_that_hangs_is_replaced_and_its_fleet_goes_on(
    own_cluster: Cluster, namespace: str, claim: str, costs: Costs
) -> None:
    cluster = own_cluster
    fleet = fleets.fleet(train="workload:train_and_keep", frames=FRAMES)
    fleet["spec"]["driver"] |= {
        "checkpoint": {"claimName": claim, "everySeconds": 1},
        "livenessDeadlineSeconds": DEADLINE_SECONDS,
        "template": {"spec": {"terminationGracePeriodSeconds": GRACE_SECONDS}},
    }
    cluster.apply([fleets.code(), fleet], namespace)

    def has_saved(found: Object) -> bool:
        return batches(found) >= 10 and found["status"].get("checkpoint", {}).get("frames", 0) > 0

    before = cluster.wait_for("cfleet/fleet", has_saved, namespace, within=STARTED_WITHIN)
    [driver] = running(cluster, namespace, "driver")
    began = time.monotonic()
    pause(driver_process(driver))
    eventually(
        lambda: (
            (condition(cluster.get("cfleet/fleet", namespace), "DriverRunning") or {}).get("reason") == "DriverLost"
        ),
        within=120,
        what="the driver is told to be lost",
    )
    still = running(cluster, namespace, "driver")
    # A busy operator may tell of the loss only when the deadline is over. The driver renewed its Lease 5 s before.
    if time.monotonic() - began < DEADLINE_SECONDS - RENEW_SECONDS:
        assert still == [driver]
    another_runs(cluster, namespace, "driver", driver)
    replaced = time.monotonic() - began
    incarnation = before["status"]["driverIncarnation"] + 1

    def again(found: Object) -> bool:
        status = found["status"]
        is_ready = (condition(found, "Ready") or {}).get("status") == "True"
        return is_ready and status["driverIncarnation"] == incarnation and status["progress"]["metrics"]["resumed"] == 1

    cluster.wait_for("cfleet/fleet", again, namespace, within=180)
    after = goes_on(cluster, namespace)
    progress = after["status"]["progress"]
    assert progress["framesDelivered"] == progress["batches"] * FRAMES
    assert after["status"]["driver"]["restarts"] == 1
    deadline = f"`livenessDeadlineSeconds: {DEADLINE_SECONDS}`, {GRACE_SECONDS} s of grace"
    costs.add(f"the driver hangs ({deadline})", "`DriverLost`", f"another runs after {replaced:.0f} s", after)
