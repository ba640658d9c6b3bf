"""Pods that somebody deletes with notice, as `kubectl drain`, an eviction or a spot notice do: nothing is lost."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator

import pytest
from tests.cluster.client import Object, condition
from tests.cluster.cluster import Cluster
from tests.e2e import fleets
from tests.faults.places import on
from tests.faults.table import Costs
from tests.faults.waits import STARTED_WITHIN, another_runs, goes_on, running
from tests.fleet_status import batches, is_in_step, summary
from tests.wait import eventually

from collectorfleet_api import names

FRAMES = 200
NODE = "node2"
# Only the end of a driver writes one.
SELDOM = 3600


@pytest.fixture
def cordoned(own_cluster: Cluster) -> Iterator[str]:
    """A node that may be drained; pods may come to it again when the test is over."""
    yield NODE
    own_cluster.kubectl("uncordon", NODE)


def budget(name: str, role: str, at_least: int) -> Object:
    """A PodDisruptionBudget over the pods of a role. KubeRay's pods have no scale, so that it has to be a number."""
    selector = {"matchLabels": {names.FLEET_LABEL: "fleet", names.ROLE_LABEL: role}}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": {"minAvailable": at_least, "selector": selector},
    }


def driver_log(cluster: Cluster, namespace: str) -> str:
    return cluster.kubectl("logs", "-n", namespace, "job/fleet-driver", "--tail=-1")


def test_a_drained_node_is_left_at_the_ends_of_rollouts_within_the_budget_of_its_pods(
    own_cluster: Cluster, namespace: str, cordoned: str, costs: Costs
) -> None:
    cluster = own_cluster
    fleet = fleets.fleet(environment="workload:slow_env", frames=FRAMES, replicas=2)
    fleet["spec"]["collectors"]["minAvailable"] = 1
    fleet["spec"]["workers"] = {"template": on(cordoned)}
    fleet["spec"]["driver"]["template"] = on("node1")
    fleet["spec"]["ray"] = {**fleet["spec"].get("ray", {}), "head": {"template": on("node1")}}
    cluster.apply([fleets.code(), fleet, budget("workers", "worker", 1)], namespace)
    cluster.wait_for(
        "cfleet/fleet", lambda f: batches(f) >= 3 and f["status"]["replicas"] == 2, namespace, within=STARTED_WITHIN
    )
    before = running(cluster, namespace, "worker")
    assert len(before) == 2

    began = time.monotonic()
    drain = ("drain", cordoned, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=240s")
    cluster.kubectl(*drain, timeout=250)
    drained = time.monotonic() - began

    def is_whole(found: Object) -> bool:
        # The operator may still count a collector of the last pod that left.
        others = {row["pod"] for row in found["status"]["collectors"]}.isdisjoint(before)
        return others and summary(found) == "2/2" and found["status"]["replicas"] == 2

    cluster.wait_for("cfleet/fleet", is_whole, namespace, within=240)
    whole = time.monotonic() - began
    after = goes_on(cluster, namespace)
    assert {p["spec"]["nodeName"] for p in cluster.items("pods", namespace)} == {"node1"}
    said = driver_log(cluster, namespace)
    for pod in before:
        assert re.search(rf"c\d is drained: its pod {pod} will be replaced", said)
    status = after["status"]
    assert status["progress"]["framesDiscarded"] == 0
    assert status["progress"]["framesDelivered"] == status["progress"]["batches"] * FRAMES
    assert status["progress"]["collectors"]["restarts"] == 0
    assert not [one for one in status["collectors"] if one.get("lastError")]
    assert (status["driver"]["restarts"], status["driverIncarnation"]) == (0, 1)
    costs.add(
        "`kubectl drain` of the node of 2 of 2 worker pods, a PodDisruptionBudget keeps 1",
        "Ready throughout; `WorkersStarting`, being deleted: (pod)",
        f"drained after {drained:.0f} s, 2 collectors after {whole:.0f}",
        after,
    )


def evict(cluster: Cluster, namespace: str, pod: str) -> None:
    """What `kubectl drain` asks for each pod."""
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": namespace}}
    path = f"/api/v1/namespaces/{namespace}/pods/{pod}/eviction"
    cluster.kubectl("create", "--raw", path, "-f", "-", input=json.dumps(eviction))


def delete(cluster: Cluster, namespace: str, pod: str) -> None:
    """What those do who answer to a spot notice."""
    cluster.kubectl("delete", f"pod/{pod}", "-n", namespace, "--wait=false")


@pytest.mark.parametrize(
    ("role", "how"),
    [("driver", evict), ("driver", delete), ("head", evict)],
    ids=lambda one: getattr(one, "__name__", one),
)
def test_a_driver_that_has_to_go_writes_its_checkpoint_within_its_grace(
    own_cluster: Cluster, namespace: str, claim: str, costs: Costs, role: str, how: object
) -> None:
    cluster = own_cluster
    fleet = fleets.fleet(train="workload:train_and_keep", frames=FRAMES)
    fleet["spec"]["driver"]["checkpoint"] = {"claimName": claim, "everySeconds": SELDOM}
    cluster.apply([fleets.code(), fleet], namespace)
    before = cluster.wait_for("cfleet/fleet", lambda f: batches(f) >= 10, namespace, within=STARTED_WITHIN)
    [driver] = running(cluster, namespace, "driver")
    [pod] = running(cluster, namespace, role)
    began = time.monotonic()
    assert callable(how)
    how(cluster, namespace, pod)
    another_runs(cluster, namespace, "driver", driver)
    incarnation = before["status"]["driverIncarnation"] + 1

    def again(found: Object) -> bool:
        status = found["status"]
        is_ready = (condition(found, "Ready") or {}).get("status") == "True"
        return is_ready and status["driverIncarnation"] == incarnation and status["progress"]["metrics"]["resumed"] == 1

    cluster.wait_for("cfleet/fleet", again, namespace, within=180)
    seconds = time.monotonic() - began
    goes_on(cluster, namespace)
    after = cluster.wait_for("cfleet/fleet", is_in_step, namespace)
    progress = after["status"]["progress"]
    assert progress["framesLost"] == 0
    assert progress["framesDelivered"] == progress["batches"] * FRAMES
    assert batches(after) > batches(before)
    # No budget: neither the Job's backoffLimit nor the collectors'.
    assert after["status"]["driver"]["restarts"] == 0
    assert progress["collectors"]["restarts"] == 0
    eventually(lambda: cluster.find(f"pod/{pod}", namespace) is None or role == "driver", within=60, what="pod gone")
    what = "evicted" if how is evict else "deleted, as at a spot notice"
    costs.add(f"the {role}'s pod is {what}", "`Starting`, `HeadStarting`", f"Ready after {seconds:.0f} s", after)


@pytest.mark.parametrize(
    ("seconds", "grace", "killed"),
    [pytest.param(20, None, False, id="of 20 s"), pytest.param(600, 10, True, id="longer than its grace")],
)
def test_a_checkpoint_of_an_evicted_driver_is_whole_however_long_it_takes(
    own_cluster: Cluster, namespace: str, claim: str, costs: Costs, seconds: int, grace: int | None, killed: bool
) -> None:
    cluster = own_cluster
    kwargs = {"seconds": seconds}
    fleet = fleets.fleet(train="workload:train_and_keep_slowly", frames=FRAMES, kwargs=kwargs)
    fleet["spec"]["driver"]["checkpoint"] = {"claimName": claim, "everySeconds": 1 if killed else SELDOM}
    if grace is not None:
        fleet["spec"]["driver"]["template"] = {"spec": {"terminationGracePeriodSeconds": grace}}
    cluster.apply([fleets.code(), fleet], namespace)

    def has_trained(found: Object) -> bool:
        saved = found["status"].get("checkpoint", {}).get("frames", 0)
        return batches(found) >= 10 and (saved > 0 or not killed)

    before = cluster.wait_for("cfleet/fleet", has_trained, namespace, within=STARTED_WITHIN)
    [driver] = running(cluster, namespace, "driver")
    began = time.monotonic()
    evict(cluster, namespace, driver)
    cluster.wait_gone(f"pod/{driver}", namespace, within=180)
    gone = time.monotonic() - began
    incarnation = before["status"]["driverIncarnation"] + 1

    def again(found: Object) -> bool:
        status = found["status"]
        is_ready = (condition(found, "Ready") or {}).get("status") == "True"
        return is_ready and status["driverIncarnation"] == incarnation and status["progress"]["metrics"]["resumed"] == 1

    cluster.wait_for("cfleet/fleet", again, namespace, within=180)
    goes_on(cluster, namespace)
    after = cluster.wait_for("cfleet/fleet", is_in_step, namespace)
    progress = after["status"]["progress"]
    # What a killed driver handed out after its newest checkpoint is lost, and said to be.
    assert (progress["framesLost"] > 0) is killed
    assert progress["framesDelivered"] == progress["batches"] * FRAMES
    assert after["status"]["driver"]["restarts"] == 0
    what = f"the driver's pod is evicted while its checkpoint takes {seconds} s" + f", with {grace} s of grace" * killed
    costs.add(what, "`Starting`", f"its pod was gone after {gone:.0f} s", after)
