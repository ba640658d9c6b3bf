"""An output whose volume is full: the driver says so with numbers, and writes on once there is room."""

from __future__ import annotations

import json
import time
from pathlib import Path

from tests.cluster.client import Object
from tests.cluster.cluster import Cluster
from tests.e2e import fleets
from tests.faults.table import Costs
from tests.faults.test_full_volume import fill
from tests.faults.waits import STARTED_WITHIN
from tests.wait import eventually

FRAMES = 200
# A shard holds a minute of batches.
WRITTEN_WITHIN = 180


def frames_in(folder: Path) -> int:
    manifest = folder / "manifest.json"
    return int(json.loads(manifest.read_text())["frames"]) if manifest.exists() else 0


def message(fleet: Object) -> str:
    """What a condition says of the driver that could not write, or nothing."""
    said = (str(one.get("message", "")) for one in fleet["status"].get("conditions", []))
    return next((one for one in said if "No space left" in one), "")


def test_an_output_without_room_is_told_with_numbers_and_continued_once_there_is_some(
    own_cluster: Cluster, namespace: str, small_claim: str, small_volume: Path, costs: Costs
) -> None:
    cluster = own_cluster
    fleet = fleets.fleet(frames=FRAMES)
    spec = fleet["spec"]
    del spec["driver"]["train"]
    spec["output"] = {"path": "/data/frames"}
    spec["driver"]["template"] = {
        "spec": {
            "containers": [{"name": "driver", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": small_claim}}],
        }
    }
    spec["backoffLimit"] = 100
    cluster.apply([fleets.code(), fleet], namespace)
    folder = small_volume / "frames"
    eventually(lambda: frames_in(folder) > 0, within=STARTED_WITHIN, what="a first shard")
    filler = fill(small_volume)
    began = time.monotonic()

    def says_so(found: Object) -> bool:
        fill(small_volume)  # again: what a failed try removes leaves room
        return bool(message(found))

    seen = cluster.wait_for("cfleet/fleet", says_so, namespace, within=WRITTEN_WITHIN)
    seconds = time.monotonic() - began
    assert "spec.output.path /data/frames" in message(seen)
    whole = frames_in(folder)
    assert whole > 0
    filler.unlink()
    eventually(lambda: frames_in(folder) > whole, within=2 * WRITTEN_WITHIN, what="a shard behind those before")
    after = cluster.get("cfleet/fleet", namespace)
    costs.add(
        "the volume is full while `output` is written",
        f"a condition: `{message(seen)}`",
        f"told after {seconds:.0f} s; the next driver writes on once there is room",
        after,
    )
