"""Fleets by Argo CD: what is committed is what runs, and the health that it shows is the truth."""

from __future__ import annotations

from tests.cluster.client import Object, condition
from tests.cluster.cluster import Cluster
from tests.e2e import fleets
from tests.gitops import manifests, remains
from tests.gitops.argocd.delivery import TOOL, Delivery
from tests.gitops.argocd.processes import health
from tests.gitops.seen import Seen
from tests.gitops.states import States

FLEET = "cfleet/fleet"


def is_reconciling(fleet: Object) -> bool:
    return (condition(fleet, "Reconciling") or {}).get("status") == "True"


def test_a_fleet_from_git_is_started_scaled_changed_suspended_and_pruned(
    delivery: Delivery, cluster: Cluster, namespace: str, claim: str, states: States, seen: Seen
) -> None:
    argocd = delivery.argocd
    first = manifests.fleet(claim=claim)
    commit = delivery.commit(fleets.code(), first)
    delivery.begin()
    # Not after the sync: Argo CD may show it only when the fleet has started.
    starting = cluster.wait_for(FLEET, is_reconciling, namespace, within=120)
    argocd.synced(namespace, commit)
    states.saw("starting", starting, "Progressing")
    _, said = delivery.wait_health("Healthy")
    running = delivery.fleet()
    assert (condition(running, "CollectorsAvailable") or {})["status"] == "True"
    states.saw("running", running, "Healthy")
    seen.add(TOOL, "a fleet is committed, and its collectors run", "Synced, Healthy", said)

    cluster.kubectl("scale", FLEET, "--replicas=2", "-n", namespace)
    scaled = cluster.wait_for(
        FLEET, lambda f: f["status"]["progress"]["collectors"]["available"] == 2, namespace, within=180
    )
    other = delivery.git.repository.commit({f"{namespace}/README": "nothing that is applied"})
    argocd.refresh(namespace)
    argocd.wait(namespace, lambda status: status["sync"] | {"revision": other} == status["sync"], within=60)
    again = delivery.fleet()
    assert again["spec"]["collectors"]["replicas"] == 2
    assert again["metadata"]["generation"] == scaled["metadata"]["generation"]
    seen.add(TOOL, "`kubectl scale` to 2 collectors, then another commit", "Synced, Healthy", "still 2 collectors")

    changed = manifests.fleet(claim=claim, frames=400)
    argocd.synced(namespace, delivery.commit(fleets.code(), changed))
    held = cluster.wait_for(FLEET, lambda f: (condition(f, "UpToDate") or {})["status"] == "False", namespace)
    states.saw("changed, held", held, "Healthy")
    argocd.refresh(namespace)
    argocd.wait(
        namespace, lambda s: health(s) == ("Healthy", (condition(held, "UpToDate") or {})["message"]), within=60
    )
    seen.add(TOOL, "a changed spec with `OnDelete`", "Synced, Healthy", (condition(held, "UpToDate") or {})["message"])

    changed["spec"]["updateStrategy"] = {"type": "RollingUpdate"}
    rolled = delivery.commit(fleets.code(), changed)
    argocd.refresh(namespace)
    rolling = cluster.wait_for(FLEET, is_reconciling, namespace, within=120)
    argocd.synced(namespace, rolled)
    states.saw("changed, rolling", rolling, "Progressing")

    def runs_the_spec(found: Object) -> bool:
        up_to_date = (condition(found, "UpToDate") or {})["status"] == "True"
        return up_to_date and found["status"]["driverIncarnation"] > held["status"]["driverIncarnation"]

    cluster.wait_for(FLEET, runs_the_spec, namespace, within=240)
    _, said = delivery.wait_health("Healthy")
    assert delivery.fleet()["status"]["progress"]["framesLost"] == 0
    seen.add(TOOL, "a changed spec with `RollingUpdate`", "Synced, Progressing, then Healthy", said)

    wrong = manifests.impossible("fleet", claim=claim, frames=400)
    wrong["spec"]["updateStrategy"] = {"type": "RollingUpdate"}
    argocd.synced(namespace, delivery.commit(fleets.code(), wrong))
    beside = cluster.wait_for(FLEET, lambda f: (condition(f, "UpToDate") or {})["status"] == "False", namespace)
    states.saw("changed to a spec that cannot be run", beside, "Healthy")
    said = (condition(beside, "UpToDate") or {})["message"]
    seen.add(TOOL, "a spec that cannot be run, committed over a run", "Synced, Healthy", said)

    changed["spec"]["suspend"] = True
    argocd.synced(namespace, delivery.commit(fleets.code(), changed))
    states.saw("suspended", cluster.wait_for(FLEET, "Suspended", namespace, within=120), "Suspended")
    _, said = delivery.wait_health("Suspended")
    seen.add(TOOL, "`suspend: true` is committed", "Synced, Suspended", said)

    argocd.synced(namespace, delivery.commit(fleets.code()))
    remains.wait_gone(cluster, namespace)
    seen.add(
        TOOL, "the fleet is removed from git", "Synced", "the fleet, its Job, its RayCluster and its pods are gone"
    )


def test_what_cannot_run_is_degraded_with_our_message_and_what_ended_is_healthy(
    delivery: Delivery, cluster: Cluster, namespace: str, states: States, seen: Seen
) -> None:
    impossible = manifests.impossible("impossible")
    broken = manifests.fleet("broken", environment="workload:broken_env")
    ends = manifests.fleet("ends", kwargs={"batches": 3})
    commit = delivery.commit(fleets.code(), impossible, broken, ends)
    delivery.begin()
    delivery.argocd.synced(namespace, commit)

    def shown(status: Object) -> dict[str, tuple[str, str]]:
        found = [one for one in status["resources"] if one["kind"] == "CollectorFleet"]
        return {one["name"]: (one["health"]["status"], one["health"].get("message", "")) for one in found}

    wanted = {"impossible": "Degraded", "broken": "Degraded", "ends": "Healthy"}
    state = {"impossible": "cannot be run", "broken": "failed", "ends": "completed"}

    def is_so(status: Object) -> bool:
        # Healthy is also one that still runs.
        over = "finished" in shown(status)["ends"][1]
        return over and {name: verdict for name, (verdict, _) in shown(status).items()} == wanted

    cluster.wait_for("cfleet/ends", "Completed", namespace, within=240)
    found = shown(delivery.argocd.wait(namespace, is_so, within=120)["status"])
    assert "no such game: Pong on the moon" in found["broken"][1]
    assert "spec.driver.resources.memory" in found["impossible"][1]
    for name, what in (
        ("impossible", "a spec that cannot be run"),
        ("broken", "an environment that raises"),
        ("ends", "a run that completes"),
    ):
        states.saw(state[name], delivery.fleet(name), wanted[name])
        seen.add(TOOL, what, f"Synced, {wanted[name]}", found[name][1])


def test_what_the_api_server_refuses_fails_the_sync_in_its_words_and_a_commit_mends_it(
    delivery: Delivery, namespace: str, seen: Seen
) -> None:
    delivery.commit(manifests.refused("fleet"))
    delivery.begin()

    def is_refused(status: Object) -> bool:
        return "4 collectors of 0.3 GPU do not fit" in status.get("operationState", {}).get("message", "")

    refused = delivery.argocd.wait(namespace, is_refused, within=60)["status"]
    seen.add(
        TOOL, "a spec that the API server refuses", refused["sync"]["status"], refused["operationState"]["message"]
    )
    delivery.argocd.synced(namespace, delivery.commit(manifests.impossible("fleet")), within=180)
