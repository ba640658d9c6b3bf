"""A run does not need its control plane: operator and API server may go away and come back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.cluster.client import Client, condition
from tests.cluster.cluster import Cluster
from tests.e2e import fleets
from tests.fleet_status import batches
from tests.wait import eventually

from collectorfleet.pod.lease import LEASE_SECONDS

OPERATOR = ("-n", "collectorfleet-system")


def apply_running(cluster: Client, *namespaces: str) -> None:
    """Fleets, started beside each other: one that trains leaves little of two cores to one that starts."""
    for namespace in namespaces:
        cluster.apply([fleets.code(), fleets.fleet(mode="Async")], namespace)
    for namespace in namespaces:
        cluster.wait_for("cfleet/fleet", lambda f: batches(f) >= 5, namespace, within=400)


def worker_pods(cluster: Client, namespace: str) -> set[str]:
    return {
        p["metadata"]["uid"] for p in cluster.items("pods", namespace) if not p["metadata"].get("deletionTimestamp")
    }


@pytest.mark.timeout(1200)
def test_two_fleets_run_on_while_the_operator_and_then_the_api_server_is_away_and_the_status_is_true_again(
    own_cluster: Cluster, namespace: str
) -> None:
    cluster = own_cluster
    with cluster.temporary_namespace("other") as other:
        apply_running(cluster, namespace, other)
        pods = {ns: worker_pods(cluster, ns) for ns in (namespace, other)}

        cluster.kubectl("scale", "deployment/collectorfleet-operator", "--replicas=0", *OPERATOR)
        eventually(
            lambda: cluster.items("pods", "collectorfleet-system", "app.kubernetes.io/name=collectorfleet-operator"),
            until=lambda found: not found,
            within=120,
            what="operator gone",
        )
        before = batches(cluster.get("cfleet/fleet", namespace))
        cluster.wait_for("cfleet/fleet", lambda f: batches(f) > before + 5, namespace, within=60)
        # A change that only the operator can take note of.
        cluster.kubectl(
            "patch", "cfleet/fleet", "-n", other, "--type=merge", "-p", '{"spec":{"collectors":{"minAvailable":2}}}'
        )
        cluster.kubectl("scale", "deployment/collectorfleet-operator", "--replicas=1", *OPERATOR)
        rollout = ("rollout", "status", "deployment/collectorfleet-operator", "--timeout=120s")
        cluster.kubectl(*rollout, *OPERATOR, timeout=130)
        generation = cluster.get("cfleet/fleet", other)["metadata"]["generation"]
        cluster.wait_for("cfleet/fleet", lambda f: f["status"]["observedGeneration"] == generation, other, within=60)
        assert pods == {ns: worker_pods(cluster, ns) for ns in (namespace, other)}
        for ns in (namespace, other):
            seen = cluster.get("cfleet/fleet", ns)
            assert seen["status"]["driver"]["restarts"] == 0
            assert (condition(seen, "Ready") or {}).get("status") == "True"
        lose_the_api_server(cluster, namespace)


def lose_the_api_server(cluster: Cluster, namespace: str) -> None:
    """For longer than a Lease is held, which loses no frame and no status."""
    before = cluster.get("cfleet/fleet", namespace)
    [driver] = cluster.items("pods", namespace, "collectorfleet.dev/role=driver")
    renewed = cluster.get("lease/fleet-driver", namespace)["spec"]["renewTime"]
    cluster.kill("kube-apiserver")

    def published() -> int:
        return cluster.log(driver, "driver").count("published version")

    def expired() -> bool:
        return datetime.now(UTC) > datetime.fromisoformat(renewed) + timedelta(seconds=LEASE_SECONDS)

    trained = published()
    eventually(expired, within=60, what="a Lease that was not renewed in time")
    eventually(published, until=lambda now: now >= trained + 10, within=120, what="10 updates without an API server")
    eventually(
        lambda: "cannot renew the Lease" in cluster.log(driver, "driver"),
        within=60,
        what="the outage in the driver's log",
    )
    cluster.start("kube-apiserver")
    after = cluster.wait_for("cfleet/fleet", lambda f: batches(f) > batches(before) + 10, namespace, within=240)
    progress = after["status"]["progress"]
    assert progress["framesDiscarded"] == 0
    assert progress["framesDelivered"] == progress["batches"] * 200
    assert progress["collectors"]["restarts"] == 0
    assert after["status"]["driver"]["restarts"] == 0
    cluster.wait_for("cfleet/fleet", "Ready", namespace, within=60)
    # Elsewhere they elect leaders, and end when they cannot. These would look for news again only after a minute.
    for component in ("kube-scheduler", "kube-controller-manager"):
        cluster.kill(component)
        cluster.start(component)
