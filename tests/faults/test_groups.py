"""Two groups on a real cluster: each on pods of its own, scaled together and rolled out apart."""

from __future__ import annotations

import time
from typing import Any

from tests.cluster.client import Client, Object
from tests.e2e import fleets
from tests.faults.waits import STARTED_WITHIN
from tests.fleet_status import batches
from tests.wait import eventually

SMALL: dict[str, Any] = {"name": "small", "replicas": 1}
BIG: dict[str, Any] = {"name": "big", "workers": {"template": {"metadata": {"labels": {"size": "big"}}}}}
WHOLE = "small 1/1, big 1/1"
ROLLING = {"type": "RollingUpdate"}


def two_groups(big: dict[str, Any] = BIG, replicas: int = 2) -> Object:
    fleet = fleets.fleet(replicas=replicas)
    fleet["spec"]["collectors"]["groups"] = [SMALL, big]
    fleet["spec"]["updateStrategy"] = ROLLING
    return fleet


def summary(fleet: Object) -> str:
    return str(fleet["status"]["progress"]["collectors"].get("groupsSummary"))


def pods(cluster: Client, namespace: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {"small": [], "big": []}
    for pod in cluster.items("pods", namespace, "ray.io/group in (small,big)"):
        if not pod["metadata"].get("deletionTimestamp"):
            found[pod["metadata"]["labels"]["ray.io/group"]].append(pod["metadata"]["name"])
    return found


def test_each_group_has_pods_of_its_own_and_is_rolled_out_by_itself(cluster: Client, namespace: str) -> None:
    cluster.apply([fleets.code(), two_groups()], namespace)
    # A run that has delivered nothing yet has nothing to lose, and a changed spec makes all of it anew.
    seen = cluster.wait_for(
        "cfleet/fleet", lambda f: summary(f) == WHOLE and batches(f) >= 3, namespace, within=STARTED_WITHIN
    )
    there = pods(cluster, namespace)
    for row in seen["status"]["collectors"]:
        assert row["pod"] in there[row["group"]], row

    # The pods of the changed group leave once they hold nothing; those of the other one go on meanwhile.
    began = time.monotonic()
    changed = {**BIG, "workers": {"template": {"metadata": {"labels": {"size": "bigger"}}}}}
    cluster.apply(two_groups(changed), namespace)
    after = eventually(
        lambda: pods(cluster, namespace),
        until=lambda now: len(now["big"]) == 1 and now["big"] != there["big"],
        within=240,
        what="another pod of the group",
    )
    assert after["small"] == there["small"]

    def collects_there(fleet: Object) -> bool:
        on = {row["pod"] for row in fleet["status"]["collectors"]}
        return on == {after["small"][0], after["big"][0]} and summary(fleet) == WHOLE

    back = cluster.wait_for("cfleet/fleet", collects_there, namespace, within=240)
    seconds = time.monotonic() - began
    assert {row["group"] for row in back["status"]["collectors"]} == {"small", "big"}
    status, progress = back["status"], back["status"]["progress"]
    assert status["driver"]["pod"] == seen["status"]["driver"]["pod"]
    assert (status["driver"]["restarts"], progress["collectors"]["restarts"]) == (0, 0)
    assert (progress["framesLost"], progress["framesDiscarded"]) == (0, 0)
    more = batches(back) - batches(seen)
    assert more > 0
    print(f"one group of two was replaced in {seconds:.0f} s, with {more} batches delivered meanwhile")
