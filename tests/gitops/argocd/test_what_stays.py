"""What stays as it is, and what is taken away: the example for five minutes, code of a run, the operator."""

from __future__ import annotations

import time

import yaml
from tests.cluster.binaries import ROOT
from tests.cluster.client import Object, condition
from tests.cluster.cluster import Cluster
from tests.e2e import fleets
from tests.gitops import manifests, remains
from tests.gitops.argocd.delivery import TOOL, Delivery
from tests.gitops.argocd.processes import health
from tests.gitops.manifests import OPERATOR, OPERATOR_NAMESPACE
from tests.gitops.seen import Seen

DRIFT_SECONDS = 300.0
FLEET = "cfleet/fleet"


def test_the_example_is_synced_without_drift_for_five_minutes(
    delivery: Delivery, cluster: Cluster, namespace: str, seen: Seen
) -> None:
    example = list(yaml.safe_load_all((ROOT / "examples/cartpole.yaml").read_text()))
    commit = delivery.commit(*example)
    delivery.begin()
    synced = delivery.argocd.synced(namespace, commit)
    # The first health of the fleet may come after the sync.
    delivery.argocd.wait(namespace, lambda status: health(status)[0] in ("Progressing", "Healthy"), within=120)
    generation = cluster.get("cfleet/cartpole", namespace)["metadata"]["generation"]
    until = time.monotonic() + DRIFT_SECONDS
    looks = 0
    while time.monotonic() < until:
        status = delivery.argocd.application(namespace)["status"]
        assert status["sync"]["status"] == "Synced", status["resources"]
        assert health(status)[0] in ("Progressing", "Healthy"), health(status)
        looks += 1
        time.sleep(1)
    assert len(status["history"]) == len(synced["status"]["history"]) == 1
    assert cluster.get("cfleet/cartpole", namespace)["metadata"]["generation"] == generation
    said = f"{looks} looks in {DRIFT_SECONDS:.0f} s, one sync, generation {generation}; {health(status)[1]}"
    seen.add(TOOL, "examples/cartpole.yaml, for five minutes", f"Synced, {health(status)[0]}", said)


def test_a_held_change_by_the_chart_leaves_the_code_that_the_run_began_with(
    delivery: Delivery, cluster: Cluster, namespace: str, seen: Seen
) -> None:
    values = f"runs/{namespace}.yaml"

    def commit(code: str) -> str:
        spec = {key: value for key, value in manifests.fleet()["spec"].items() if key != "code"}
        text = yaml.safe_dump({"fleet": spec, "code": {"workload.py": code}, "fullnameOverride": "fleet"})
        return delivery.git.repository.commit({values: text})

    first = commit(fleets.WORKLOAD.read_text())
    source = {"helm": {"valueFiles": [f"../../{values}"]}, "path": "charts/collectorfleet"}
    delivery.begin("fleet-chart", **source)
    delivery.argocd.synced(namespace, first)
    delivery.wait_health("Healthy")
    cluster.wait_for(FLEET, lambda f: f["status"]["progress"]["batches"] >= 1, namespace)
    before = delivery.fleet()

    delivery.argocd.synced(namespace, commit(fleets.WORKLOAD.read_text() + "a = 1\n"))
    held = cluster.wait_for(FLEET, lambda f: (condition(f, "UpToDate") or {})["status"] == "False", namespace)
    codes = {one["metadata"]["name"] for one in cluster.items("configmap", namespace)}
    assert {before["spec"]["code"]["configMap"], held["spec"]["code"]["configMap"]} <= codes
    assert before["spec"]["code"] != held["spec"]["code"]
    [driver] = cluster.items("pods", namespace, "collectorfleet.dev/role=driver")
    cluster.delete(f"pod/{driver['metadata']['name']}", namespace, wait=False)

    def goes_on(found: Object) -> bool:
        is_next = found["status"].get("driverIncarnation", 0) > held["status"]["driverIncarnation"]
        return is_next and found["status"].get("progress", {}).get("batches", 0) >= 1

    cluster.wait_for(FLEET, goes_on, namespace, within=180)
    delivery.argocd.refresh(namespace)
    delivery.argocd.wait(namespace, lambda status: status["sync"]["status"] == "Synced", within=60)
    seen.add(
        TOOL, "changed code by the chart, held; the driver's pod is lost", "Synced, Healthy", "goes on with its code"
    )


def test_a_fleet_can_be_removed_after_its_operator(
    delivery: Delivery, cluster: Cluster, namespace: str, seen: Seen
) -> None:
    commit = delivery.commit(fleets.code(), manifests.fleet())
    delivery.begin()
    delivery.argocd.synced(namespace, commit)
    delivery.wait_health("Healthy")
    delivery.argocd.delete(OPERATOR, within=120)
    assert cluster.items("deployment", OPERATOR_NAMESPACE) == []
    assert delivery.fleet()["metadata"]["name"] == "fleet"
    delivery.argocd.synced(namespace, delivery.commit(fleets.code()))
    remains.wait_gone(cluster, namespace)
    seen.add(
        TOOL, "the operator is removed, then the fleet", "Synced", "the CRD stays; the fleet and its pods are gone"
    )
