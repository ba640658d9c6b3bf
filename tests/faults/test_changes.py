"""Every kind of change of a fleet that trains, on real pods: what is made anew, what goes on, and that it ends.

What tools wait for ends in each case: ``Reconciling`` is False, ``observedGeneration`` current, and the same manifest
applied again writes nothing.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.cluster.client import Object, condition
from tests.cluster.cluster import Cluster
from tests.e2e import fleets
from tests.faults.waits import STARTED_WITHIN, goes_on
from tests.fleet_status import batches

FRAMES = 200
CHILDREN = ("raycluster/fleet", "job/fleet-driver", "lease/fleet-driver", "role/fleet-driver")


def fleet(claim: str | None, strategy: str = "RollingUpdate", **changes: Any) -> Object:
    made = fleets.fleet(train="workload:train_and_keep" if claim else "workload:train", frames=FRAMES)
    if claim:
        made["spec"]["driver"]["checkpoint"] = {"claimName": claim, "everySeconds": 1}
    made["spec"] |= {"updateStrategy": {"type": strategy}}
    for name, value in changes.items():
        made["spec"][name] = {**made["spec"].get(name, {}), **value} if isinstance(value, dict) else value
    return made


def start(cluster: Cluster, namespace: str, manifest: Object) -> Object:
    cluster.apply([fleets.code(), manifest], namespace)
    return cluster.wait_for("cfleet/fleet", lambda f: batches(f) >= 3, namespace, within=STARTED_WITHIN)


def is_settled(found: Object, reason: str) -> bool:
    """Whether whoever waits for the change has nothing left to wait for."""
    up_to_date, reconciling = condition(found, "UpToDate") or {}, condition(found, "Reconciling") or {}
    return bool(
        up_to_date["reason"] == reason
        and reconciling["status"] == "False"
        and found["status"]["observedGeneration"] == found["metadata"]["generation"]
    )


def names_no_pods(raycluster: Object) -> bool:
    """Return whether the operator has cleared the names of the pods that KubeRay has deleted."""
    groups = raycluster["spec"]["workerGroupSpecs"]
    return not any((group.get("scaleStrategy") or {}).get("workersToDelete") for group in groups)


def written(cluster: Cluster, namespace: str) -> list[str]:
    """What stands in the fleet's children but for their status and the Lease's renewals."""
    found = [cluster.get(child, namespace) for child in CHILDREN if not child.startswith("lease")]
    return [str((one["metadata"]["uid"], one["metadata"].get("generation"), one.get("spec"))) for one in found]


@pytest.mark.parametrize(
    ("changes", "anew"),
    [
        pytest.param({"collection": {"framesPerBatch": 2 * FRAMES}}, {"driver"}, id="collection"),
        pytest.param({"weights": {"updateAfterEachBatch": False}}, {"driver"}, id="weights"),
        pytest.param(
            {"collectors": {"resources": {"cpu": "110m", "memory": "1500Mi"}}},
            {"driver", "worker", "head"},
            id="collectors.resources",
        ),
        pytest.param(
            {"ray": {"head": {"template": {"metadata": {"annotations": {"round": "2"}}}}}},
            {"driver", "worker", "head"},
            id="ray",
        ),
        pytest.param(
            {"workers": {"template": {"metadata": {"annotations": {"round": "2"}}}}}, {"worker"}, id="workers.template"
        ),
        pytest.param({"progressDeadlineSeconds": 500}, set(), id="progressDeadlineSeconds"),
    ],
)
def test_a_rolled_change_makes_anew_what_it_concerns_and_loses_nothing(
    own_cluster: Cluster, namespace: str, claim: str, changes: Object, anew: set[str]
) -> None:
    cluster = own_cluster
    before = start(cluster, namespace, fleet(claim))

    def pods() -> dict[str, list[str]]:
        found = cluster.items("pods", namespace)
        names = {role: [] for role in ("driver", "head", "worker")}
        for pod in found:
            names[pod["metadata"]["labels"]["collectorfleet.dev/role"]].append(pod["metadata"]["name"])
        return names

    was = pods()
    changed = fleet(claim, **changes)
    cluster.apply(changed, namespace)

    def is_done(found: Object) -> bool:
        now = pods()
        replaced = {role for role in now if now[role] != was[role]}
        return replaced == anew and is_settled(found, "UpToDate") and all(len(one) == 1 for one in now.values())

    cluster.wait_for("cfleet/fleet", is_done, namespace, within=240)
    after = goes_on(cluster, namespace)["status"]
    assert after["progress"]["framesLost"] == 0
    assert after["progress"]["framesDelivered"] >= FRAMES * after["progress"]["batches"]
    assert after["driver"]["restarts"] == 0
    assert after["driverIncarnation"] == before["status"]["driverIncarnation"] + ("driver" in anew)

    cluster.wait_for("raycluster/fleet", names_no_pods, namespace)
    stands = written(cluster, namespace)
    cluster.apply(changed, namespace)
    goes_on(cluster, namespace)
    assert written(cluster, namespace) == stands


@pytest.mark.parametrize(("strategy", "reason"), [("OnDelete", "RestartNeeded"), ("RollingUpdate", "CheckpointNeeded")])
def test_a_change_that_is_held_ends_for_whoever_waits_and_the_run_goes_on(
    own_cluster: Cluster, namespace: str, strategy: str, reason: str
) -> None:
    cluster = own_cluster
    start(cluster, namespace, fleet(None, strategy))
    stands = written(cluster, namespace)
    cluster.apply(fleet(None, strategy, collection={"framesPerBatch": 2 * FRAMES}), namespace)
    cluster.wait_for("cfleet/fleet", lambda f: is_settled(f, reason), namespace, within=90)
    goes_on(cluster, namespace)
    assert written(cluster, namespace) == stands
    # Taken back, nothing is held any more.
    cluster.apply(fleet(None, strategy), namespace)
    cluster.wait_for("cfleet/fleet", lambda f: is_settled(f, "UpToDate"), namespace, within=90)
    # Carried out by hand, it starts over.
    cluster.apply(fleet(None, strategy, collection={"framesPerBatch": 2 * FRAMES}), namespace)
    cluster.wait_for("cfleet/fleet", lambda f: is_settled(f, reason), namespace, within=90)
    cluster.kubectl("delete", "job/fleet-driver", "-n", namespace)
    cluster.wait_for("cfleet/fleet", lambda f: is_settled(f, "UpToDate"), namespace, within=240)
    after = goes_on(cluster, namespace)
    assert after["spec"]["collection"]["framesPerBatch"] == 2 * FRAMES


def test_a_bad_worker_template_is_rolled_back_while_it_is_half_rolled_out(
    own_cluster: Cluster, namespace: str, claim: str
) -> None:
    cluster, two = own_cluster, {"collectors": {"replicas": 2}}
    start(cluster, namespace, fleet(claim, **two))
    cluster.wait_for("cfleet/fleet", lambda f: f["status"]["replicas"] == 2, namespace, within=240)

    def workers() -> dict[str, str]:
        found = cluster.items("pods", namespace, "collectorfleet.dev/role=worker")
        return {pod["metadata"]["name"]: pod["status"]["phase"] for pod in found}

    was = workers()
    bad = {"workers": {"template": {"spec": {"nodeSelector": {"disk": "none-has-it"}}}}}
    cluster.apply(fleet(claim, **two, **bad), namespace)

    def hangs(found: Object) -> bool:
        ray = condition(found, "RayClusterReady") or {}
        return ray["reason"] == "CollectorUnschedulable" and sorted(workers().values()) == ["Pending", "Running"]

    cluster.wait_for("cfleet/fleet", hangs, namespace, within=120)
    [kept] = set(was) & set(workers())
    # One at a time: the other one still collects.
    half = goes_on(cluster, namespace)
    assert half["status"]["driver"]["restarts"] == 0
    assert (condition(half, "UpToDate") or {})["reason"] == "Updating"

    cluster.apply(fleet(claim, **two), namespace)

    def is_back(found: Object) -> bool:
        now = workers()
        return (
            is_settled(found, "UpToDate") and list(now.values()) == ["Running"] * 2 and found["status"]["replicas"] == 2
        )

    cluster.wait_for("cfleet/fleet", is_back, namespace, within=180)
    assert kept in workers()
    after = goes_on(cluster, namespace)["status"]
    assert after["progress"]["framesLost"] == 0
    assert after["driverIncarnation"] == half["status"]["driverIncarnation"]
