"""A driver pod that is killed, and the next one, which goes on from the checkpoint on the claim."""

from __future__ import annotations

import re

import pytest
from tests.cluster.client import Object, condition
from tests.cluster.cluster import Cluster
from tests.e2e import fleets

FRAMES = 200


def test_a_killed_driver_is_followed_by_one_that_goes_on_from_the_claim(
    own_cluster: Cluster, namespace: str, claim: str
) -> None:
    cluster = own_cluster
    fleet = fleets.fleet(train="workload:train_and_keep", frames=FRAMES)
    fleet["spec"]["driver"]["checkpoint"] = {"claimName": claim, "everySeconds": 1}
    cluster.apply([fleets.code(), fleet], namespace)
    before = cluster.wait_for(
        "cfleet/fleet", lambda f: f["status"]["checkpoint"]["frames"] >= 3 * FRAMES, namespace, within=180
    )["status"]

    # Held until somebody asks for a restart: the next driver is the same run's, on the same image and pods.
    changed = fleets.fleet(train="workload:train_and_keep", image="example.invalid/no:1", frames=2 * FRAMES)
    changed["spec"]["driver"]["checkpoint"] = fleet["spec"]["driver"]["checkpoint"]
    cluster.apply(changed, namespace)
    [driver] = cluster.items("pods", namespace, "collectorfleet.dev/role=driver")
    cluster.kill_pod(driver["metadata"]["name"], namespace)

    def went_on(found: Object) -> bool:
        status = found["status"]
        batches = status["progress"]["batches"]
        return bool(status["driver"]["restarts"] == 1 and batches > before["progress"]["batches"] + 5)

    after = cluster.wait_for("cfleet/fleet", went_on, namespace, within=180)["status"]
    progress = after["progress"]
    assert progress["metrics"]["resumed"] == 1
    # What the training function keeps went back together with the counters, and nothing is counted twice.
    assert progress["framesDelivered"] == progress["batches"] * FRAMES
    assert 0 <= progress["batches"] - progress["metrics"]["kept"] <= 1
    up_to_date = condition({"status": after}, "UpToDate")
    assert up_to_date
    assert (up_to_date["status"], up_to_date["reason"]) == ("False", "RestartNeeded")
    assert after["weights"]["published"] > before["weights"]["published"]
    assert after["checkpoint"]["frames"] >= before["checkpoint"]["frames"]
    # What is lost is what was handed out since the checkpoint that it goes on from, and it is said.
    log = cluster.kubectl("logs", "-n", namespace, "job/fleet-driver", "--tail=-1", "--all-pods=true")
    [frames] = map(int, re.findall(r"going on from the checkpoint at (\d+) frames", log))
    assert frames >= before["checkpoint"]["frames"]
    assert frames + progress["framesLost"] >= before["progress"]["framesDelivered"]
    assert progress["framesLost"] % FRAMES == 0


@pytest.mark.parametrize("role", ["driver", "head"])
def test_a_replay_buffer_comes_back_from_the_checkpoint(
    own_cluster: Cluster, namespace: str, claim: str, role: str
) -> None:
    cluster = own_cluster
    fleet = fleets.fleet(train="workload:train_from_what_it_finds", frames=FRAMES)
    fleet["spec"]["replayBuffer"] = {
        "factory": "workload:make_buffer",
        "kwargs": {"size": 100_000},
        "checkpoint": True,
    }
    fleet["spec"]["driver"]["checkpoint"] = {"claimName": claim, "everySeconds": 1}
    cluster.apply([fleets.code(), fleet], namespace)
    before = cluster.wait_for(
        "cfleet/fleet", lambda f: f["status"]["checkpoint"]["frames"] >= 3 * FRAMES, namespace, within=180
    )["status"]
    assert before["progress"]["metrics"]["found"] == 0
    [lost] = cluster.items("pods", namespace, f"collectorfleet.dev/role={role}")
    cluster.kill_pod(lost["metadata"]["name"], namespace)

    def went_on(found: Object) -> bool:
        status = found["status"]
        again = status["driver"]["restarts"] == 1 and status["progress"]["metrics"].get("found", 0) > 0
        return bool(again and status["progress"]["batches"] > before["progress"]["batches"])

    progress = cluster.wait_for("cfleet/fleet", went_on, namespace, within=240)["status"]["progress"]
    assert progress["metrics"]["found"] >= before["checkpoint"]["frames"]
    assert progress["replayBufferFramesLost"] == 0
