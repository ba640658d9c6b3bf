"""Pods that are killed under a driver, itself among them: the next one goes on from the checkpoint on the claim."""

from __future__ import annotations

import re

import pytest
from tests.cluster.client import Object, condition
from tests.cluster.cluster import Cluster
from tests.e2e import fleets
from tests.fleet_status import is_in_step

FRAMES = 200


def spec(claim: str, **changes: object) -> Object:
    """A fleet that keeps checkpoints, of its replay buffer too."""
    fleet = fleets.fleet(train="workload:train_and_keep", **{"frames": FRAMES, **changes})  # type: ignore[arg-type]
    fleet["spec"]["replayBuffer"] = {
        "factory": "workload:make_buffer",
        "kwargs": {"size": 100_000},
        "checkpoint": True,
    }
    fleet["spec"]["driver"]["checkpoint"] = {"claimName": claim, "everySeconds": 1}
    return fleet


def goes_on(cluster: Cluster, namespace: str, before: Object, restarts: int) -> Object:
    """Wait until the driver that came after so many restarts trains; ``before`` is the status of the one before."""

    def trains(found: Object) -> bool:
        status = found["status"]
        progress, metrics = status["progress"], status["progress"]["metrics"]
        # The operator writes these, and it may be later than the driver's report.
        is_counted = (
            status["driver"]["restarts"] >= restarts and status["observedGeneration"] == found["metadata"]["generation"]
        )
        # Until it has collectors a driver repeats what the one before it said, and that found less.
        is_next = (
            status["driverIncarnation"] == restarts + 1 and metrics["found"] > before["progress"]["metrics"]["found"]
        )
        trains = "resumed" in metrics and progress["batches"] > before["progress"]["batches"] + 5
        # What the training function keeps went back together with the counters, and nothing is counted twice.
        return bool(is_counted and is_next and trains and is_in_step(found))

    after = cluster.wait_for("cfleet/fleet", trains, namespace, within=400)["status"]
    progress = after["progress"]
    assert after["driver"]["restarts"] == restarts
    assert progress["metrics"]["resumed"] == 1
    # What was in the replay buffer is there again, wherever that was.
    assert progress["metrics"]["found"] >= before["checkpoint"]["frames"]
    assert progress["replayBufferFramesLost"] == 0
    assert progress["framesDelivered"] == progress["batches"] * FRAMES
    assert after["weights"]["published"] > before["weights"]["published"]
    assert after["checkpoint"]["frames"] >= before["checkpoint"]["frames"]
    return after


def kill(cluster: Cluster, namespace: str, role: str) -> None:
    [pod] = cluster.items("pods", namespace, f"collectorfleet.dev/role={role}")
    cluster.kill_pod(pod["metadata"]["name"], namespace)


@pytest.mark.timeout(1200)
def test_a_killed_driver_or_head_is_followed_by_a_driver_that_goes_on_from_the_claim(
    own_cluster: Cluster, namespace: str, claim: str
) -> None:
    cluster = own_cluster
    cluster.apply([fleets.code(), spec(claim)], namespace)
    first = cluster.wait_for(
        "cfleet/fleet", lambda f: f["status"]["checkpoint"]["frames"] >= 3 * FRAMES, namespace, within=400
    )["status"]
    assert first["progress"]["metrics"]["found"] == 0

    # Held until somebody asks for a restart: the next driver is the same run's, on the same image and pods.
    cluster.apply(spec(claim, image="example.invalid/no:1", frames=2 * FRAMES), namespace)
    kill(cluster, namespace, "driver")
    second = goes_on(cluster, namespace, first, restarts=1)
    up_to_date = condition({"status": second}, "UpToDate")
    assert up_to_date
    assert (up_to_date["status"], up_to_date["reason"]) == ("False", "RestartNeeded")
    # What is lost is what was handed out since the checkpoint that it goes on from, and it is said.
    log = cluster.kubectl("logs", "-n", namespace, "job/fleet-driver", "--tail=-1", "--all-pods=true")
    [frames] = map(int, re.findall(r"resuming from the checkpoint at (\d+) frames", log))
    assert frames >= first["checkpoint"]["frames"]
    assert frames + second["progress"]["framesLost"] >= first["progress"]["framesDelivered"]
    assert second["progress"]["framesLost"] % FRAMES == 0

    # With its head a fleet loses all of its Ray.
    kill(cluster, namespace, "head")
    goes_on(cluster, namespace, second, restarts=2)
