"""Whatever somebody deletes of a fleet is made again, and the run goes on: also while a changed spec is held."""

from __future__ import annotations

import pytest
from tests.cluster.client import condition
from tests.cluster.cluster import Cluster
from tests.e2e import fleets
from tests.faults.waits import STARTED_WITHIN, another_runs, goes_on, running
from tests.fleet_status import batches

FRAMES = 200
RIGHTS = ("lease/fleet-driver", "role/fleet-driver", "rolebinding/fleet-driver")


def replaced(cluster: Cluster, namespace: str, target: str) -> None:
    """Delete an object and wait until there is another one of its name."""
    uid = cluster.get(target, namespace)["metadata"]["uid"]
    cluster.kubectl("delete", target, "-n", namespace, "--wait=false")
    cluster.wait_for(target, lambda found: found["metadata"]["uid"] != uid, namespace, within=120)


def pod_replaced(cluster: Cluster, namespace: str, role: str) -> None:
    """Delete the one pod of a role that runs and wait until another one does."""

    [name] = running(cluster, namespace, role)
    cluster.kubectl("delete", f"pod/{name}", "-n", namespace, "--wait=false")
    another_runs(cluster, namespace, role, name)


@pytest.mark.parametrize("held", [False, True], ids=["as stored", "held spec"])
def test_every_child_that_is_deleted_is_made_again(
    own_cluster: Cluster, namespace: str, claim: str, held: bool
) -> None:
    cluster = own_cluster
    fleet = fleets.fleet(train="workload:train_and_keep", frames=FRAMES)
    fleet["spec"]["driver"]["checkpoint"] = {"claimName": claim, "everySeconds": 1}
    cluster.apply([fleets.code(), fleet], namespace)
    cluster.wait_for(
        "cfleet/fleet",
        lambda f: f["status"]["checkpoint"]["frames"] >= 3 * FRAMES,
        namespace,
        within=STARTED_WITHIN,
    )
    if held:
        changed = {**fleet, "spec": {**fleet["spec"], "image": "example.invalid/no:1"}}
        cluster.apply(changed, namespace)
        cluster.wait_for(
            "cfleet/fleet", lambda f: (condition(f, "UpToDate") or {})["reason"] == "RestartNeeded", namespace
        )
    for target in RIGHTS:
        replaced(cluster, namespace, target)
    after = goes_on(cluster, namespace)
    assert after["status"]["driver"]["restarts"] == 0
    # Only another pod gets a token of the ServiceAccount that is made again.
    replaced(cluster, namespace, "serviceaccount/fleet-driver")
    cluster.wait_for("cfleet/fleet", lambda f: f["status"]["driver"]["restarts"] == 1, namespace, within=120)
    after = goes_on(cluster, namespace)
    assert after["status"]["progress"]["framesLost"] == 0
    for role in ("worker", "head", "driver"):
        incarnation = after["status"]["driverIncarnation"]
        pod_replaced(cluster, namespace, role)
        # Another driver follows, unless only a worker pod was deleted.
        after = goes_on(cluster, namespace, after=0 if role == "worker" else incarnation)
    incarnation = after["status"]["driverIncarnation"]
    replaced(cluster, namespace, "raycluster/fleet")
    after = goes_on(cluster, namespace, after=incarnation)
    if not held:  # without a Job, the next driver would run the changed spec
        incarnation, lost = after["status"]["driverIncarnation"], after["status"]["progress"]["framesLost"]
        replaced(cluster, namespace, "job/fleet-driver")
        after = goes_on(cluster, namespace, after=incarnation)
        assert after["status"]["progress"]["framesLost"] == lost
    progress = after["status"]["progress"]
    assert progress["framesDelivered"] == progress["batches"] * FRAMES
    images = {p["spec"]["containers"][0]["image"] for p in cluster.items("pods", namespace)}
    assert images == {fleets.IMAGE}


def test_an_operator_that_is_killed_again_and_again_loses_no_step(
    own_cluster: Cluster, namespace: str, claim: str
) -> None:
    cluster = own_cluster
    fleet = fleets.fleet(train="workload:train_and_keep", frames=FRAMES)
    fleet["spec"] |= {"updateStrategy": {"type": "RollingUpdate"}}
    fleet["spec"]["driver"]["checkpoint"] = {"claimName": claim, "everySeconds": 1}

    def change(**spec: object) -> None:
        """Apply, and kill the operator while it carries that out."""
        fleet["spec"] |= spec
        cluster.apply(fleet, namespace)
        where = "collectorfleet-system"
        [pod] = cluster.items("pods", where, "app.kubernetes.io/name=collectorfleet-operator")
        cluster.kill_pod(pod["metadata"]["name"], where)

    cluster.apply(fleets.code(), namespace)
    change()
    cluster.wait_for(
        "cfleet/fleet", lambda f: f["status"]["checkpoint"]["frames"] >= 3 * FRAMES, namespace, within=STARTED_WITHIN
    )
    change(environment={"factory": "workload:make_env", "perCollector": 2})
    cluster.wait_for("cfleet/fleet", lambda f: f["status"]["driverIncarnation"] == 2, namespace, within=240)
    goes_on(cluster, namespace)
    change(suspend=True)
    suspended = cluster.wait_for("cfleet/fleet", "Suspended", namespace, within=240)
    assert cluster.items("pods", namespace) == []
    change(suspend=False)
    cluster.wait_for("cfleet/fleet", lambda f: batches(f) > batches(suspended) + 3, namespace, within=240)
    after = goes_on(cluster, namespace)
    assert after["status"]["progress"]["framesLost"] == 0
    assert after["status"]["driver"]["restarts"] == 0
