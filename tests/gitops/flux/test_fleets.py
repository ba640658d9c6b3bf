"""Fleets by Flux: what is committed is what runs, and each commit comes to an end."""

from __future__ import annotations

import time

import yaml
from tests.cluster.binaries import ROOT
from tests.cluster.client import Object, condition
from tests.cluster.cluster import Cluster
from tests.e2e import fleets
from tests.gitops import manifests, remains
from tests.gitops.flux.delivery import TOOL, Delivery
from tests.gitops.flux.processes import KUSTOMIZATION, RELEASE, ready, status
from tests.gitops.manifests import OPERATOR, OPERATOR_NAMESPACE
from tests.gitops.seen import Seen

DRIFT_SECONDS = 300.0
FLEET = "cfleet/fleet"


def said(obj: Object) -> tuple[str, str]:
    """What the table says of it."""
    found = ready(obj)
    return f"Ready={found['status']}, {found['reason']}", str(found["message"])


def test_a_fleet_from_git_is_started_scaled_changed_and_pruned(
    delivery: Delivery, cluster: Cluster, namespace: str, claim: str, seen: Seen
) -> None:
    flux, own = delivery.flux, f"{KUSTOMIZATION}/{namespace}"
    commit = delivery.commit(fleets.code(), manifests.fleet(claim=claim))
    delivery.begin(path=namespace)
    begun = flux.ready(own, commit, within=240)
    running = delivery.fleet()
    assert (condition(running, "CollectorsAvailable") or {})["status"] == "True"
    seen.add(TOOL, "a fleet is committed, and its collectors run", *said(begun))

    cluster.kubectl("scale", FLEET, "--replicas=2", "-n", namespace)
    cluster.wait_for(FLEET, lambda f: f["status"]["progress"]["collectors"]["available"] == 2, namespace, within=180)
    changed = manifests.fleet(claim=claim, frames=400)
    held = flux.ready(own, delivery.commit(fleets.code(), changed), within=60)
    found = delivery.fleet()
    assert (condition(found, "UpToDate") or {})["reason"] == "RestartNeeded"
    assert found["spec"]["collectors"]["replicas"] == 2
    seen.add(TOOL, "`kubectl scale` to 2 collectors, then a changed spec with `OnDelete`", *said(held))

    changed["spec"]["updateStrategy"] = {"type": "RollingUpdate"}
    rolled = flux.ready(own, delivery.commit(fleets.code(), changed), within=240)
    after = delivery.fleet()
    assert (condition(after, "UpToDate") or {})["status"] == "True"
    assert after["status"]["driverIncarnation"] > found["status"]["driverIncarnation"]
    assert after["status"]["progress"]["framesLost"] == 0
    seen.add(TOOL, "a changed spec with `RollingUpdate`", *said(rolled))

    changed["spec"]["suspend"] = True
    suspended = flux.ready(own, delivery.commit(fleets.code(), changed), within=120)
    assert (condition(delivery.fleet(), "Suspended") or {})["status"] == "True"
    seen.add(TOOL, "`suspend: true` is committed", *said(suspended))

    removed = flux.ready(own, delivery.commit(fleets.code()), within=60)
    remains.wait_gone(cluster, namespace)
    seen.add(TOOL, "the fleet is removed from git", *said(removed))


def test_what_cannot_run_fails_at_once_and_is_named(
    delivery: Delivery, cluster: Cluster, namespace: str, seen: Seen
) -> None:
    flux, own = delivery.flux, f"{KUSTOMIZATION}/{namespace}"
    delivery.commit(manifests.refused("refused"))
    delivery.begin(path=namespace)
    failed = flux.wait(own, lambda obj: status(obj) == "False", within=60)
    assert "4 collectors of 0.3 GPU do not fit" in ready(failed)["message"]
    seen.add(TOOL, "a spec that the API server refuses", *said(failed))

    delivery.commit(manifests.impossible("impossible"))
    failed = flux.wait(
        own, lambda obj: status(obj) == "False" and ready(obj)["reason"] == "HealthCheckFailed", within=60
    )
    seen.add(TOOL, "a spec that cannot be run", *said(failed))
    assert "spec.driver.resources.memory" in (condition(delivery.fleet("impossible"), "Stalled") or {})["message"]

    commit = delivery.commit(fleets.code(), manifests.fleet("broken", environment="workload:broken_env"))
    failed = flux.wait(own, lambda obj: status(obj) == "False" and "broken" in ready(obj)["message"], within=180)
    assert commit in failed["status"]["lastAttemptedRevision"]
    seen.add(TOOL, "an environment that raises", *said(failed))

    done = delivery.commit(fleets.code(), manifests.fleet("ends", kwargs={"batches": 3}))
    flux.ready(own, done, within=180)
    cluster.wait_for("cfleet/ends", "Completed", namespace, within=120)
    flux.refresh(own)
    ended = flux.wait(own, lambda obj: status(obj) == "True", within=60)
    seen.add(TOOL, "a run that completes", *said(ended))


def test_the_example_is_ready_without_drift_for_five_minutes(
    delivery: Delivery, cluster: Cluster, namespace: str, seen: Seen
) -> None:
    own = f"{KUSTOMIZATION}/{namespace}"
    commit = delivery.commit(*yaml.safe_load_all((ROOT / "examples/cartpole.yaml").read_text()))
    delivery.begin(path=namespace, interval="30s")
    begun = delivery.flux.ready(own, commit, within=240)
    before = delivery.fleet("cartpole")["metadata"]
    until = time.monotonic() + DRIFT_SECONDS
    while time.monotonic() < until:
        assert status(delivery.flux.get(own)) in ("True", "Unknown"), ready(delivery.flux.get(own))
        time.sleep(1)
    after = delivery.fleet("cartpole")["metadata"]
    assert after["generation"] == before["generation"]
    seen.add(TOOL, "examples/cartpole.yaml, reconciled every 30 s for five minutes", *said(begun))


def test_a_broken_fleet_by_its_chart_fails_and_is_mended_by_a_commit(
    delivery: Delivery, cluster: Cluster, namespace: str, seen: Seen
) -> None:
    flux, own = delivery.flux, f"{RELEASE}/{namespace}"

    def commit(environment: str) -> str:
        spec = manifests.fleet(environment=environment)["spec"]
        del spec["code"]
        values = {"fleet": spec, "code": {"workload.py": fleets.WORKLOAD.read_text()}, "fullnameOverride": "fleet"}
        return delivery.commit_file(f"runs/{namespace}.yaml", yaml.safe_dump(values))

    commit("workload:broken_env")
    chart = manifests.example("flux/fleet-chart.yaml")["spec"]["chart"]
    chart["spec"]["valuesFiles"] = ["charts/collectorfleet/values.yaml", f"runs/{namespace}.yaml"]
    delivery.begin("fleet-chart", releaseName=namespace[:40].rstrip("-"), chart=chart)

    def is_failed(release: Object) -> bool:
        # Until the chart has been fetched it is not ready either.
        return status(release) == "False" and ready(release)["reason"] == "InstallFailed"

    failed = flux.wait(own, is_failed, within=240)
    assert "no such game: Pong on the moon" in (condition(delivery.fleet(), "Stalled") or {})["message"]
    seen.add(TOOL, "an environment that raises, by the chart", *said(failed))

    mended = commit("workload:make_env")
    done = flux.wait(own, lambda obj: status(obj) == "True", within=240)
    assert mended[:12] in done["status"]["lastAttemptedRevision"]
    cluster.wait_for(FLEET, lambda fleet: fleet["status"]["progress"]["batches"] >= 1, namespace)
    seen.add(TOOL, "a commit corrects this environment", *said(done))


def test_a_fleet_can_be_removed_after_its_operator(
    delivery: Delivery, cluster: Cluster, namespace: str, seen: Seen
) -> None:
    own = f"{KUSTOMIZATION}/{namespace}"
    commit = delivery.commit(fleets.code(), manifests.fleet())
    delivery.begin(path=namespace)
    delivery.flux.ready(own, commit, within=240)
    delivery.flux.delete(f"{RELEASE}/{OPERATOR}", within=120)
    assert cluster.items("deployment", OPERATOR_NAMESPACE) == []
    assert delivery.fleet()["metadata"]["name"] == "fleet"
    removed = delivery.flux.ready(own, delivery.commit(fleets.code()), within=60)
    remains.wait_gone(cluster, namespace)
    seen.add(TOOL, "the operator is removed, then the fleet", *said(removed))
