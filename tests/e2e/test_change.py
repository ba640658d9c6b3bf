"""A fleet that is changed while it trains: rolled over to another spec, suspended and resumed, and nothing is lost."""

from __future__ import annotations

from typing import Any

from tests.cluster.client import Object, condition
from tests.cluster.cluster import Cluster
from tests.cluster.thin_images import COLLECTOR_IMAGES
from tests.e2e import fleets
from tests.fleet_status import batches

FRAMES = 200
WORKERS = "collectorfleet.dev/role=worker"


def spec(claim: str, frames: int = FRAMES, image: str = COLLECTOR_IMAGES[1], **changes: Any) -> Object:
    """Of a fleet that keeps checkpoints and takes up what changes."""
    fleet = fleets.fleet(train="workload:train_and_keep", frames=frames, image=image)
    fleet["spec"]["driver"]["checkpoint"] = {"claimName": claim, "everySeconds": 1}
    fleet["spec"] |= {"updateStrategy": {"type": "RollingUpdate"}, **changes}
    return fleet


def test_a_fleet_is_changed_suspended_and_resumed_without_losing_a_frame(
    own_cluster: Cluster, namespace: str, claim: str
) -> None:
    cluster = own_cluster
    cluster.apply([fleets.code(), spec(claim, image=COLLECTOR_IMAGES[0])], namespace)
    before = cluster.wait_for("cfleet/fleet", lambda f: batches(f) >= 3, namespace, within=400)

    cluster.apply(spec(claim, frames=2 * FRAMES), namespace)

    def goes_on(found: Object, after: Object) -> bool:
        up_to_date = (condition(found, "UpToDate") or {}).get("status") == "True"
        is_next = found["status"]["driverIncarnation"] > after["status"]["driverIncarnation"]
        progress = found["status"]["progress"]
        trains = progress["collectors"]["available"] == 1 and "resumed" in progress["metrics"]
        return up_to_date and is_next and trains and batches(found) > batches(after)

    def has_another_batch(found: Object) -> bool:
        return goes_on(found, before) and found["status"]["progress"]["framesDelivered"] > FRAMES * batches(found)

    rolled = cluster.wait_for("cfleet/fleet", has_another_batch, namespace, within=400)
    progress = rolled["status"]["progress"]
    assert progress["metrics"]["resumed"] == 1
    assert progress["framesLost"] == 0
    assert rolled["status"]["driver"]["restarts"] == 0
    # Batches of both sizes: the second driver went on with the first one's counters.
    assert progress["framesDelivered"] < 2 * FRAMES * batches(rolled)
    fleets.wait_for_image(cluster, namespace, COLLECTOR_IMAGES[1])

    cluster.apply(spec(claim, frames=2 * FRAMES, suspend=True), namespace)

    def is_suspended(found: Object) -> bool:
        # The operator may see that the last pod is gone before it sees the driver's last report.
        said, frames = condition(found, "Suspended") or {}, found["status"]["progress"]["framesDelivered"]
        text = (
            f"the fleet has no pods; after a resume, the fleet continues from its checkpoint at {frames} of {frames} "
            "frames"
        )
        return (said["status"], said["message"]) == ("True", text)

    suspended = cluster.wait_for("cfleet/fleet", is_suspended, namespace, within=240)
    frames = suspended["status"]["progress"]["framesDelivered"]
    assert cluster.items("pods", namespace) == []
    assert suspended["status"]["phase"] == "Suspended"
    assert suspended["status"]["progress"]["collectors"]["summary"] == "0/1"
    assert condition(suspended, "Ready") is None

    cluster.apply(spec(claim, frames=2 * FRAMES), namespace)
    resumed = cluster.wait_for("cfleet/fleet", lambda found: goes_on(found, suspended), namespace, within=400)
    assert resumed["status"]["progress"]["framesLost"] == 0
    assert resumed["status"]["progress"]["framesDelivered"] == frames + 2 * FRAMES * (
        batches(resumed) - batches(suspended)
    )

    [worker] = cluster.items("pods", namespace, WORKERS)
    template = {"metadata": {"annotations": {"round": "2"}}}
    cluster.apply(spec(claim, frames=2 * FRAMES, workers={"template": template}), namespace)

    def is_replaced(found: Object) -> bool:
        pods = cluster.items("pods", namespace, WORKERS)
        replaced = [pod["metadata"]["name"] for pod in pods] != [worker["metadata"]["name"]] and len(pods) == 1
        collects = found["status"]["progress"]["collectors"]["available"] == 1 and batches(found) > batches(resumed) + 3
        return replaced and collects and (condition(found, "UpToDate") or {})["status"] == "True"

    # The same driver goes on, on another pod, and has lost nobody.
    replaced = cluster.wait_for("cfleet/fleet", is_replaced, namespace, within=400)["status"]
    assert replaced["driverIncarnation"] == resumed["status"]["driverIncarnation"]
    assert replaced["progress"]["collectors"]["restarts"] == 0
    assert replaced["progress"]["framesLost"] == 0
