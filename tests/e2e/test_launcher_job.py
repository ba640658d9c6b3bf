"""A fleet without Ray on real nodes: it trains, and goes on when pods of each kind are killed and when it is scaled."""

from __future__ import annotations

import yaml
from tests.cluster.binaries import ROOT
from tests.cluster.client import Client, Object
from tests.cluster.cluster import Cluster
from tests.manifests import changed
from tests.wait import eventually

EXAMPLE = ROOT / "examples" / "cartpole_job.yaml"
NOW = ("--grace-period=0", "--force", "--wait=false")


def pods(cluster: Client, namespace: str, role: str) -> dict[str, str]:
    """Names by uid of those that nobody deletes."""
    found = cluster.items("pods", namespace, f"collectorfleet.dev/role={role}")
    return {
        one["metadata"]["uid"]: one["metadata"]["name"] for one in found if "deletionTimestamp" not in one["metadata"]
    }


def summary(fleet: Object) -> str:
    return str(fleet["status"]["progress"]["collectors"]["summary"])


def batches(fleet: Object) -> int:
    return int(fleet["status"]["progress"]["batches"])


def goes_on(cluster: Client, namespace: str, collectors: str, within: float = 90) -> Object:
    """Wait until all are there and two more batches have come."""
    before = batches(cluster.get("cfleet/cartpole", namespace))
    return cluster.wait_for(
        "cfleet/cartpole", lambda f: summary(f) == collectors and batches(f) >= before + 2, namespace, within=within
    )


def test_cartpole_trains_in_a_job_while_pods_are_killed_and_it_is_scaled(
    own_cluster: Cluster, namespace: str, claim: str
) -> None:
    cluster = own_cluster
    fleet, code = yaml.safe_load_all(EXAMPLE.read_text())
    # The example as it stands, and where a driver that is killed goes on from.
    kept = {"spec.driver.checkpoint": {"claimName": claim, "everySeconds": 1}}
    cluster.apply([code, changed(fleet, kept)], namespace)
    cluster.wait_for("cfleet/cartpole", lambda f: batches(f) >= 2 and summary(f) == "2/2", namespace, within=120)
    assert cluster.items("rayclusters", namespace) == []
    assert sorted(name.rpartition("-")[0] for name in pods(cluster, namespace, "worker").values()) == [
        "cartpole-collectors-0",
        "cartpole-collectors-1",
    ]

    cluster.kubectl("scale", "cfleet/cartpole", "--replicas=3", "-n", namespace)
    goes_on(cluster, namespace, "3/3")
    job = cluster.get("job/cartpole-collectors", namespace)["spec"]
    assert (job["parallelism"], job["completions"]) == (3, 3)

    lost, name = next(iter(pods(cluster, namespace, "worker").items()))
    cluster.kubectl("delete", f"pod/{name}", "-n", namespace, *NOW)
    eventually(
        lambda: pods(cluster, namespace, "worker"),
        until=lambda found: lost not in found and len(found) == 3,
        within=60,
        what="another pod in the place of the killed one",
    )
    goes_on(cluster, namespace, "3/3")

    ((killed, name),) = pods(cluster, namespace, "driver").items()
    waiting = pods(cluster, namespace, "worker")
    cluster.kubectl("delete", f"pod/{name}", "-n", namespace, *NOW)
    eventually(
        lambda: pods(cluster, namespace, "driver"),
        until=lambda found: len(found) == 1 and killed not in found,
        within=60,
        what="another driver",
    )
    after = goes_on(cluster, namespace, "3/3", within=120)
    assert after["status"]["driverIncarnation"] == 2
    # It finds its collectors waiting.
    assert pods(cluster, namespace, "worker").keys() == waiting.keys()

    done = cluster.wait_for("cfleet/cartpole", "Completed", namespace, within=480)["status"]
    assert done["progress"]["metrics"]["reward"] >= 475
    assert done["weights"]["transport"] == "TorchDistributed"
    eventually(
        lambda: pods(cluster, namespace, "worker"), until=lambda left: not left, within=60, what="no pods of collectors"
    )


def test_a_fleet_without_ray_shrinks_is_suspended_and_comes_back(
    own_cluster: Cluster, namespace: str, claim: str
) -> None:
    cluster = own_cluster
    fleet, code = yaml.safe_load_all(EXAMPLE.read_text())
    kept = {
        "spec.driver.checkpoint": {"claimName": claim, "everySeconds": 1},
        "spec.driver.train.kwargs": {"goal": 501},
    }
    cluster.apply([code, changed(fleet, kept)], namespace)
    cluster.wait_for("cfleet/cartpole", lambda f: batches(f) >= 2 and summary(f) == "2/2", namespace, within=120)

    cluster.kubectl("scale", "cfleet/cartpole", "--replicas=1", "-n", namespace)
    goes_on(cluster, namespace, "1/1")
    eventually(
        lambda: len(pods(cluster, namespace, "worker")), until=lambda count: count == 1, within=60, what="one pod left"
    )

    def suspend(yes: str) -> None:
        patch = f'{{"spec":{{"suspend":{yes}}}}}'
        cluster.kubectl("patch", "cfleet/cartpole", "-n", namespace, "--type=merge", "-p", patch)

    suspend("true")
    held = cluster.wait_for("cfleet/cartpole", "Suspended", namespace, within=90)
    assert cluster.items("pods", namespace) == []
    suspend("false")
    resumed = cluster.wait_for(
        "cfleet/cartpole", lambda f: summary(f) == "1/1" and batches(f) > batches(held), namespace, within=120
    )
    assert resumed["status"]["progress"]["framesDelivered"] == 2048 * batches(resumed)
