"""A claim that is full: training goes on without checkpoints, says so, and writes them again once there is room."""

from __future__ import annotations

import time
from pathlib import Path

from tests.cluster.client import Object, condition
from tests.cluster.cluster import Cluster
from tests.e2e import fleets
from tests.faults.conftest import VOLUME_BYTES
from tests.faults.table import Costs
from tests.faults.waits import STARTED_WITHIN, another_runs, goes_on, running
from tests.fleet_status import batches

FRAMES = 200


def fill(folder: Path) -> Path:
    """Take what is left of the volume, beside what it took before."""
    filler = folder / "filler"
    with filler.open("ab", buffering=0) as file:
        try:
            for _ in range(VOLUME_BYTES // 512):
                file.write(bytes(512))
        except OSError:
            return filler
    raise AssertionError(f"{folder} has more room than {VOLUME_BYTES} bytes")


def failure(fleet: Object) -> str:
    return str(fleet["status"]["checkpoint"].get("failure") or "")


def test_a_full_claim_costs_checkpoints_and_no_frame(
    own_cluster: Cluster, namespace: str, small_claim: str, small_volume: Path, costs: Costs
) -> None:
    cluster = own_cluster
    fleet = fleets.fleet(train="workload:train_and_keep", frames=FRAMES)
    fleet["spec"]["driver"]["checkpoint"] = {"claimName": small_claim, "everySeconds": 1}
    cluster.apply([fleets.code(), fleet], namespace)
    cluster.wait_for(
        "cfleet/fleet",
        lambda f: f["status"]["checkpoint"]["frames"] >= 3 * FRAMES,
        namespace,
        within=STARTED_WITHIN,
    )
    filler = fill(small_volume)
    full = time.monotonic()

    def says_so(found: Object) -> bool:
        fill(small_volume)  # again: a checkpoint that is removed leaves room for the next one
        return "No space left" in failure(found)

    seen = cluster.wait_for("cfleet/fleet", says_so, namespace, within=120)
    said = time.monotonic() - full
    assert (condition(seen, "Ready") or {})["status"] == "True"
    kept = seen["status"]["checkpoint"]["frames"]
    after = goes_on(cluster, namespace)
    assert after["status"]["progress"]["framesLost"] == 0
    assert after["status"]["driver"]["restarts"] == 0
    assert after["status"]["checkpoint"]["frames"] == kept

    # A driver that dies meanwhile is followed by one that goes on from the newest checkpoint, still without room.
    [driver] = running(cluster, namespace, "driver")
    before = batches(cluster.get("cfleet/fleet", namespace))
    cluster.kill_pod(driver, namespace)
    another_runs(cluster, namespace, "driver", driver)
    cluster.wait_for("cfleet/fleet", lambda f: f["status"]["driverIncarnation"] == 2, namespace, within=180)
    lost = goes_on(cluster, namespace)["status"]["progress"]
    assert lost["metrics"]["resumed"] == 1
    assert lost["framesLost"] >= before * FRAMES - kept

    filler.unlink()
    cluster.wait_for(
        "cfleet/fleet", lambda f: not failure(f) and f["status"]["checkpoint"]["frames"] > kept, namespace, within=120
    )
    after = goes_on(cluster, namespace)
    costs.add(
        "the claim of driver.checkpoint is full; the driver is killed meanwhile",
        f"`status.checkpoint.failure: {failure(seen)}`",
        f"told after {said:.0f} s; Ready throughout, but for the driver's restart",
        after,
    )
