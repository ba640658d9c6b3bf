"""A fleet with a queue, in a real API server with Kueue's kinds; what Kueue and pods do is played by the test."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.cluster import module_files
from tests.cluster.client import Object, condition
from tests.cluster.control_plane import ControlPlane
from tests.integration import played
from tests.integration.operator_process import operator
from tests.integration.played import Pods, manifest, message, told
from tests.wait import eventually

from collectorfleet_api import names

API = "kueue.x-k8s.io/v1beta1"
KINDS = ("workloads", "resourceflavors", "workloadpriorityclasses")
FLAVOR = {"nodeLabels": {"pool": "spot"}}


@pytest.fixture
def queues(control_plane: ControlPlane, fleet_crd: None, namespace: str, tmp_path: Path) -> Iterator[str]:
    """A namespace whose fleets an operator serves that knows of queues."""
    if reason := module_files.KUEUE.missing():
        pytest.skip(f"left out the queues: {reason}")
    bases = module_files.KUEUE.folder() / "config/components/crd/bases"
    for kind in KINDS:
        control_plane.apply_crds(bases / f"kueue.x-k8s.io_{kind}.yaml")
    arguments = ("--queues", "--namespace", namespace)
    with operator(control_plane, tmp_path, *arguments, account=control_plane.kubeconfig):
        yield namespace


def say(plane: ControlPlane, namespace: str, told: dict[str, str], **status: object) -> None:
    """Conditions that Kueue writes, beside those that are there."""
    stored = plane.get("workload/fleet", namespace)
    kept = [one for one in stored.get("status", {}).get("conditions", []) if one["type"] not in told]
    time = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    new = [
        {"type": type_, "status": word, "reason": "Played", "message": f"{type_} is {word}", "lastTransitionTime": time}
        for type_, word in told.items()
    ]
    patch = json.dumps({"status": {"conditions": [*kept, *new], **status}})
    options = ("-n", namespace, "--subresource=status", "--type=merge", "-p", patch)
    plane.kubectl("patch", "workload/fleet", *options)


def admit(plane: ControlPlane, namespace: str) -> None:
    pod_sets = plane.get("workload/fleet", namespace)["spec"]["podSets"]
    assignments = [{"name": one["name"], "count": one["count"], "flavors": {"cpu": "spot"}} for one in pod_sets]
    admission = {"clusterQueue": "lab", "podSetAssignments": assignments}
    say(plane, namespace, {"QuotaReserved": "True", "Admitted": "True"}, admission=admission)


def test_a_fleet_waits_for_its_workload_runs_and_gives_the_quota_back(control_plane: ControlPlane, queues: str) -> None:
    plane, namespace = control_plane, queues
    plane.apply({"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": "spot"}, "spec": FLAVOR})
    urgent = {"apiVersion": API, "kind": "WorkloadPriorityClass", "metadata": {"name": "urgent"}, "value": 7}
    plane.apply(urgent)
    fleet = manifest(replicas=1)
    fleet["metadata"]["labels"] = {names.QUEUE_LABEL: "team", names.PRIORITY_LABEL: "urgent"}
    plane.apply(fleet, namespace)
    seen = plane.wait_for("cfleet/fleet", lambda f: told(f, "Admitted") == ("False", "WaitingForQuota"), namespace)
    assert "LocalQueue team" in message(seen, "Ready")
    workload = plane.get("workload/fleet", namespace)
    assert (workload["spec"]["priority"], workload["spec"]["queueName"]) == (7, "team")
    assert [one["name"] for one in workload["spec"]["podSets"]] == ["driver", "head", "workers-collectors"]
    assert plane.items("jobs,rayclusters,pods", namespace) == []

    admit(plane, namespace)
    pods = Pods(plane, namespace)
    for role in ("head", "worker", "driver"):
        pods.run(role, 1)
        assert pods.of(role)[0]["spec"]["nodeSelector"] == {"pool": "spot"}
    played.report(plane, namespace, available=1)
    plane.wait_for("cfleet/fleet", "Ready", namespace)
    plane.wait_for("workload/fleet", "PodsReady", namespace)

    say(plane, namespace, {"Evicted": "True"})
    seen = plane.wait_for("cfleet/fleet", lambda f: f["status"]["orders"]["stopAtBatch"], namespace)
    assert told(seen, "Ready") == ("False", "QuotaTakenBack")
    (driver,) = pods.of("driver")
    pods.end(driver, names.EXIT_STOPPED, "stopped: the operator asked it to, at the end of a batch")

    def is_given_back(found: Object) -> bool:
        return (condition(found, "QuotaReserved") or {}).get("status") == "False"

    given_back = plane.wait_for("workload/fleet", is_given_back, namespace)
    assert "admission" not in given_back["status"]
    assert pods.of("head") + pods.of("worker") + pods.of("driver") == []

    say(plane, namespace, {"Evicted": "False"})
    admit(plane, namespace)
    pods.wait("driver", 1)
    plane.kubectl("patch", "cfleet/fleet", "-n", namespace, "--type=merge", "-p", '{"spec":{"suspend":true}}')
    plane.wait_for("cfleet/fleet", "Suspended", namespace)
    eventually(lambda: plane.items("workloads", namespace), until=lambda left: not left, within=30, what="it is gone")
