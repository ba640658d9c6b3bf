"""Parts of the control plane that go away while a fleet trains on two nodes, and come back."""

from __future__ import annotations

import time

from tests.cluster import addons
from tests.cluster.client import Object, condition
from tests.cluster.cluster import Cluster
from tests.e2e import fleets
from tests.faults.places import on
from tests.faults.table import Costs
from tests.faults.waits import STARTED_WITHIN, another_runs, goes_on, running
from tests.fleet_status import batches
from tests.wait import eventually

FRAMES = 200


def start(cluster: Cluster, namespace: str, claim: str, **places: str) -> Object:
    """A fleet with something to lose, the pods of its roles on these nodes."""
    fleet = fleets.fleet(train="workload:train_and_keep", frames=FRAMES)
    spec, place = fleet["spec"], {role: on(places.get(role, "node1")) for role in ("head", "driver", "worker")}
    spec["driver"] |= {"checkpoint": {"claimName": claim, "everySeconds": 1}, "template": place["driver"]}
    spec["ray"] = {**spec.get("ray", {}), "head": {"template": place["head"]}}
    spec["workers"] = {"template": place["worker"]}
    cluster.apply([fleets.code(), fleet], namespace)
    return cluster.wait_for("cfleet/fleet", lambda f: batches(f) >= 5, namespace, within=STARTED_WITHIN)


def nothing_lost(before: Object, after: Object) -> None:
    """The same driver with the same collectors; what it delivered stands in its status."""
    progress = after["status"]["progress"]
    assert progress["framesDelivered"] == progress["batches"] * FRAMES
    assert (progress["framesLost"], progress["framesDiscarded"]) == (0, 0)
    assert after["status"]["driverIncarnation"] == before["status"]["driverIncarnation"]
    assert after["status"]["driver"]["restarts"] == 0


def pods_of(cluster: Cluster, namespace: str) -> set[str]:
    return {pod["metadata"]["uid"] for pod in cluster.items("pods", namespace)}


def test_etcd_and_the_api_server_are_restarted_and_no_pod_is(
    own_cluster: Cluster, namespace: str, claim: str, costs: Costs
) -> None:
    cluster = own_cluster
    before = start(cluster, namespace, claim, worker="node2")
    pods = pods_of(cluster, namespace)
    [driver] = cluster.items("pods", namespace, "collectorfleet.dev/role=driver")
    for component in ("kube-apiserver", "etcd"):
        cluster.kill(component)

    def trained() -> int:
        return cluster.log(driver, "driver").count("published version")

    at = trained()
    eventually(trained, until=lambda now: now >= at + 20, within=180, what="20 updates without etcd and API server")
    for component in ("etcd", "kube-apiserver"):
        cluster.start(component)
    began = time.monotonic()
    after = cluster.wait_for("cfleet/fleet", lambda f: batches(f) >= batches(before) + 20, namespace, within=180)
    seconds = time.monotonic() - began
    # Elsewhere they elect leaders, and end when they cannot. These would look for news again only after a minute.
    for component in ("kube-scheduler", "kube-controller-manager"):
        cluster.kill(component)
        cluster.start(component)
    after = goes_on(cluster, namespace)
    nothing_lost(before, after)
    assert pods_of(cluster, namespace) == pods
    costs.add(
        "etcd and the API server are killed and started again",
        "nothing while no API server runs; Ready before and after",
        f"the status is true {seconds:.0f} s after the API server is back; training never stops",
        after,
    )


def test_without_kuberay_a_fleet_trains_on_and_gets_its_pod_when_it_is_back(
    own_cluster: Cluster, namespace: str, claim: str, costs: Costs
) -> None:
    cluster = own_cluster
    before = start(cluster, namespace, claim)
    where = ("deployment/kuberay-operator", "-n", addons.KUBERAY_NAMESPACE)
    cluster.kubectl("scale", *where, "--replicas=0")
    try:
        eventually(
            lambda: cluster.items("pods", addons.KUBERAY_NAMESPACE),
            until=lambda found: not found,
            within=60,
            what="KubeRay gone",
        )
        goes_on(cluster, namespace)
        [worker] = running(cluster, namespace, "worker")
        deleted = time.monotonic()
        cluster.kubectl("delete", f"pod/{worker}", "-n", namespace, "--wait=false")

        def lacks_the_worker(found: Object) -> bool:
            # The operator may see the driver's report before it sees the deleted pod.
            is_ready, cluster_is_ready = condition(found, "Ready") or {}, condition(found, "RayClusterReady") or {}
            return (is_ready["status"], cluster_is_ready["reason"]) == ("False", "WorkersStarting")

        seen = cluster.wait_for("cfleet/fleet", lacks_the_worker, namespace, within=120)
        told = time.monotonic() - deleted
        said = condition(seen, "RayClusterReady") or {}
        assert "0 of 1 worker pods are ready" in said["message"]
        assert "KubeRay" in said["message"]
        assert running(cluster, namespace, "driver")
    finally:
        cluster.kubectl("scale", *where, "--replicas=1")
    began = time.monotonic()
    another_runs(cluster, namespace, "worker", worker)
    after = goes_on(cluster, namespace)
    seconds = time.monotonic() - began
    nothing_lost(before, after)
    assert after["status"]["progress"]["collectors"]["restarts"] == 0
    costs.add(
        "KubeRay is away, and a worker pod with it",
        f"`WorkersStarting`: {said['message']}",
        f"told {told:.0f} s after the pod is deleted; Ready {seconds:.0f} s after KubeRay is started",
        after,
    )


def test_a_head_that_is_cut_off_for_two_minutes_and_healed_is_replaced_once(
    own_cluster: Cluster, namespace: str, claim: str, costs: Costs
) -> None:
    cluster = own_cluster
    before = start(cluster, namespace, claim, head="node2")
    [head] = running(cluster, namespace, "head")
    began = time.monotonic()
    cluster.cut("node2")
    try:
        silent = cluster.wait_for(
            "cfleet/fleet",
            lambda f: (condition(f, "RayClusterReady") or {})["reason"] == "NodeLost",
            namespace,
            within=180,
        )
        told = time.monotonic() - began
        said = (condition(silent, "RayClusterReady") or {})["message"]
        assert head in said
        eventually(lambda: time.monotonic() - began >= 120, within=130, every=1, what="two minutes")
    finally:
        cluster.heal("node2")
    cluster.wait_for("node/node2", "Ready", within=120)
    another_runs(cluster, namespace, "head", head)
    after = goes_on(cluster, namespace)
    seconds = time.monotonic() - began
    progress = after["status"]["progress"]
    assert progress["framesDelivered"] == progress["batches"] * FRAMES
    assert batches(after) > batches(before)
    eventually(
        lambda: [len(running(cluster, namespace, role)) for role in ("head", "driver", "worker")],
        until=lambda counts: counts == [1, 1, 1],
        within=120,
        what="one running pod of each role",
    )
    costs.add(
        "the head's node is cut off for two minutes and healed",
        f"`NodeLost`: {said}",
        f"told {told:.0f} s after the cut; Ready {seconds:.0f} s after it",
        after,
    )
