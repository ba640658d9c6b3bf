"""A fleet without Ray on real nodes: it trains, and goes on when pods of each kind are killed, when it is scaled and
when it is suspended."""

from __future__ import annotations

import pytest
import yaml
from tests.cluster.binaries import ROOT
from tests.cluster.client import Client, Object
from tests.cluster.cluster import Cluster
from tests.fleet_status import batches, summary
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


def goes_on(cluster: Client, namespace: str, collectors: str, incarnation: int = 1) -> Object:
    """Wait until all collectors are available and two more batches have come, of this driver or a later one.

    The process of a pod that was deleted by force may report for some seconds more.
    """
    before = batches(cluster.get("cfleet/cartpole", namespace))
    return cluster.wait_for(
        "cfleet/cartpole",
        lambda f: (
            summary(f) == collectors and batches(f) >= before + 2 and f["status"]["driverIncarnation"] >= incarnation
        ),
        namespace,
        within=180,
    )


@pytest.mark.timeout(1500)
def test_cartpole_trains_in_a_job_while_pods_are_killed_and_it_is_scaled_and_suspended(
    own_cluster: Cluster, namespace: str, claim: str
) -> None:
    cluster = own_cluster
    fleet, code = yaml.safe_load_all(EXAMPLE.read_text())
    # The example as it stands, but that a driver goes on from where the one before it was, and that it trains for as
    # long as there are pods to kill.
    kept = {
        "spec.driver.checkpoint": {"claimName": claim, "everySeconds": 1},
        "spec.updateStrategy": {"type": "RollingUpdate"},
    }
    endless = {"spec.driver.train.kwargs": {"goal": 501}}
    cluster.apply([code, changed(fleet, {**kept, **endless})], namespace)
    cluster.wait_for("cfleet/cartpole", lambda f: batches(f) >= 2 and summary(f) == "2/2", namespace, within=400)
    assert cluster.items("rayclusters", namespace) == []
    first = pods(cluster, namespace, "worker")
    assert sorted(name.rpartition("-")[0] for name in first.values()) == [
        "cartpole-collectors-0",
        "cartpole-collectors-1",
    ]

    lost, name = next(iter(first.items()))
    cluster.kubectl("delete", f"pod/{name}", "-n", namespace, *NOW)
    cluster.kubectl("scale", "cfleet/cartpole", "--replicas=3", "-n", namespace)
    eventually(
        lambda: pods(cluster, namespace, "worker"),
        until=lambda found: lost not in found and len(found) == 3,
        within=120,
        what="a pod more, and another in the place of the killed one",
    )
    job = cluster.get("job/cartpole-collectors", namespace)
    assert (job["spec"]["parallelism"], job["spec"]["completions"]) == (3, 3)
    goes_on(cluster, namespace, "3/3")

    ((killed, name),) = pods(cluster, namespace, "driver").items()
    waiting = pods(cluster, namespace, "worker")
    cluster.kubectl("delete", f"pod/{name}", "-n", namespace, *NOW)
    eventually(
        lambda: pods(cluster, namespace, "driver"),
        until=lambda found: len(found) == 1 and killed not in found,
        within=120,
        what="another driver",
    )
    after = goes_on(cluster, namespace, "3/3", incarnation=2)
    assert after["status"]["driverIncarnation"] == 2
    # It found its collectors waiting.
    assert pods(cluster, namespace, "worker") == waiting

    cluster.kubectl("scale", "cfleet/cartpole", "--replicas=1", "-n", namespace)
    goes_on(cluster, namespace, "1/1")
    eventually(
        lambda: len(pods(cluster, namespace, "worker")), until=lambda count: count == 1, within=180, what="one pod left"
    )

    suspend(cluster, namespace, yes=True)
    held = cluster.wait_for("cfleet/cartpole", "Suspended", namespace, within=240)
    assert cluster.items("pods", namespace) == []
    suspend(cluster, namespace, yes=False)
    resumed = cluster.wait_for(
        "cfleet/cartpole",
        lambda f: summary(f) == "1/1" and batches(f) > batches(held),
        namespace,
        within=400,
    )
    assert resumed["status"]["progress"]["framesDelivered"] == 2048 * batches(resumed)
    assert resumed["status"]["driverIncarnation"] == 3

    # Another driver once more, which ends when the pole stays up.
    reachable = {"spec.driver.train.kwargs": {"goal": 475}, "spec.collectors.replicas": 1}
    cluster.apply([changed(fleet, reachable)], namespace)
    done = cluster.wait_for("cfleet/cartpole", "Completed", namespace, within=500)["status"]
    assert done["progress"]["metrics"]["reward"] >= 475
    assert done["weights"]["transport"] == "TorchDistributed"
    assert done["driverIncarnation"] == 4
    eventually(
        lambda: pods(cluster, namespace, "worker"),
        until=lambda left: not left,
        within=120,
        what="no pods of collectors",
    )


def suspend(cluster: Client, namespace: str, *, yes: bool) -> None:
    patch = f'{{"spec":{{"suspend":{str(yes).lower()}}}}}'
    cluster.kubectl("patch", "cfleet/cartpole", "-n", namespace, "--type=merge", "-p", patch)
