"""Two groups on a real cluster: each on pods of its own, scaled together and rolled out apart."""

from __future__ import annotations

from typing import Any

from tests.cluster.client import Client, Object
from tests.e2e import fleets
from tests.wait import eventually

SMALL: dict[str, Any] = {"name": "small", "replicas": 1}
BIG: dict[str, Any] = {"name": "big", "workers": {"template": {"metadata": {"labels": {"size": "big"}}}}}
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
    seen = cluster.wait_for("cfleet/fleet", lambda f: summary(f) == "small 1/1, big 1/1", namespace, within=400)
    there = pods(cluster, namespace)
    for row in seen["status"]["collectors"]:
        assert row["pod"] in there[row["group"]], row

    changed = {**BIG, "workers": {"template": {"metadata": {"labels": {"size": "bigger"}}}}}
    cluster.apply(two_groups(changed), namespace)
    after = eventually(
        lambda: pods(cluster, namespace),
        until=lambda now: len(now["big"]) == 1 and now["big"] != there["big"],
        within=240,
        what="another pod of the group",
    )
    assert after["small"] == there["small"]
    back = cluster.wait_for(
        "cfleet/fleet",
        lambda f: {r["pod"] for r in f["status"]["collectors"]} == {after["small"][0], after["big"][0]},
        namespace,
        within=240,
    )
    assert {row["group"] for row in back["status"]["collectors"]} == {"small", "big"}
    driver = back["status"]["driver"]
    assert driver["restarts"] == 0
    assert driver["pod"] == seen["status"]["driver"]["pod"]
