"""A fleet with a queue, in a real API server with Kueue's kinds; what Kueue and pods do is played by the test."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.client import Object, condition
from tests.cluster.control_plane import ControlPlane
from tests.cluster.errors import KubernetesError
from tests.cluster.module_files import KUEUE_NEWEST, KUEUE_OLDEST
from tests.integration import kueue_crds, played
from tests.integration.operator_process import operator
from tests.integration.played import Pods, manifest, message, told
from tests.wait import eventually

from collectorfleet_api import names

FLAVOR = {"nodeLabels": {"pool": "spot"}}


@dataclass(frozen=True)
class Queues:
    """A namespace whose fleets an operator serves that knows of queues; ``version`` is of Kueue's API."""

    plane: ControlPlane
    namespace: str
    version: str

    @property
    def api(self) -> str:
        return f"{kueue_crds.GROUP}/{self.version}"

    @property
    def workload(self) -> tuple[str, str]:
        """As kubectl takes it, whatever other versions there are."""
        return f"workloads.{self.version}.{kueue_crds.GROUP}", "fleet"

    def stored(self) -> Object:
        found = self.plane.kubectl("get", *self.workload, "-n", self.namespace, "--show-managed-fields", "-o", "json")
        read: Object = json.loads(found)
        return read

    def written_in(self) -> set[str]:
        """The versions in which the operator wrote the Workload last."""
        fields = self.stored()["metadata"]["managedFields"]
        ours = [one for one in fields if one["manager"] == names.OPERATOR_MANAGER and one["operation"] == "Apply"]
        return {one["apiVersion"] for one in ours}

    def say(self, told: dict[str, str], **status: object) -> None:
        """Conditions that Kueue writes, beside those that are there."""
        kept = [one for one in self.stored().get("status", {}).get("conditions", []) if one["type"] not in told]
        time = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        new = [
            {
                "type": type_,
                "status": word,
                "reason": "Played",
                "message": f"{type_} is {word}",
                "lastTransitionTime": time,
            }
            for type_, word in told.items()
        ]
        patch = json.dumps({"status": {"conditions": [*kept, *new], **status}})
        options = ("-n", self.namespace, "--subresource=status", "--type=merge", "-p", patch)
        self.plane.kubectl("patch", *self.workload, *options)

    def admit(self) -> None:
        pod_sets = self.stored()["spec"]["podSets"]
        assignments = [{"name": one["name"], "count": one["count"], "flavors": {"cpu": "spot"}} for one in pod_sets]
        admission = {"clusterQueue": "lab", "podSetAssignments": assignments}
        self.say({"QuotaReserved": "True", "Admitted": "True"}, admission=admission)

    def add_flavor_and_priority(self) -> None:
        self.plane.apply(
            {"apiVersion": self.api, "kind": "ResourceFlavor", "metadata": {"name": "spot"}, "spec": FLAVOR}
        )
        urgent = {"apiVersion": self.api, "kind": "WorkloadPriorityClass", "metadata": {"name": "urgent"}, "value": 7}
        self.plane.apply(urgent)


@pytest.fixture
def kueue_can_be_had(control_plane: ControlPlane) -> Iterator[None]:
    """The CRDs of both Kueues can be had; at the end none is installed."""
    for kueue in (KUEUE_OLDEST, KUEUE_NEWEST):
        if reason := kueue.missing():
            pytest.skip(f"left out the queues: {reason}")
    try:
        yield
    finally:
        kueue_crds.remove(control_plane)


@contextlib.contextmanager
def operator_of_queues(plane: ControlPlane, folder: Path, namespace: str) -> Iterator[None]:
    arguments = ("--queues", "--namespace", namespace)
    with operator(plane, folder, *arguments, account=plane.kubeconfig):
        yield


OLDEST, NEWEST = (KUEUE_OLDEST, "v1beta1"), (KUEUE_NEWEST, "v1beta2")


@pytest.fixture(params=[pytest.param(OLDEST, id="oldest Kueue"), pytest.param(NEWEST, id="newest Kueue")])
def queues(
    request: pytest.FixtureRequest,
    control_plane: ControlPlane,
    fleet_crd: None,
    kueue_can_be_had: None,
    namespace: str,
    tmp_path: Path,
) -> Iterator[Queues]:
    kueue, version = request.param
    kueue_crds.install(control_plane, kueue)
    with operator_of_queues(control_plane, tmp_path, namespace):
        yield Queues(control_plane, namespace, version)


def queued_fleet(priority: str = "", **spec: Any) -> Object:
    fleet = manifest(replicas=1, **spec)
    fleet["metadata"]["labels"] = {names.QUEUE_LABEL: "team"}
    if priority:
        fleet["metadata"]["labels"][names.PRIORITY_LABEL] = priority
    return fleet


def test_a_fleet_waits_for_its_workload_runs_and_gives_the_quota_back(queues: Queues) -> None:
    plane, namespace = queues.plane, queues.namespace
    queues.add_flavor_and_priority()
    plane.apply(queued_fleet("urgent"), namespace)
    seen = plane.wait_for("cfleet/fleet", lambda f: told(f, "Admitted") == ("False", "WaitingForQuota"), namespace)
    assert "LocalQueue team" in message(seen, "Ready")
    workload = queues.stored()
    assert queues.written_in() == {queues.api}
    assert (workload["spec"]["priority"], workload["spec"]["queueName"]) == (7, "team")
    assert [one["name"] for one in workload["spec"]["podSets"]] == ["driver", "head", "workers-collectors"]
    by_name, by_reference = workload["spec"].get("priorityClassName"), workload["spec"].get("priorityClassRef", {})
    assert by_name == "urgent" or by_reference.get("name") == "urgent"
    assert plane.items("jobs,rayclusters,pods", namespace) == []

    queues.admit()
    pods = Pods(plane, namespace)
    for role in ("head", "worker", "driver"):
        pods.run(role, 1)
        assert pods.of(role)[0]["spec"]["nodeSelector"] == {"pool": "spot"}
    played.report(plane, namespace, available=1)
    plane.wait_for("cfleet/fleet", "Ready", namespace)
    plane.wait_for("workload/fleet", "PodsReady", namespace)

    queues.say({"Evicted": "True"})
    seen = plane.wait_for("cfleet/fleet", lambda f: f["status"]["orders"]["stopAtBatch"], namespace)
    assert told(seen, "Ready") == ("False", "QuotaTakenBack")
    (driver,) = pods.of("driver")
    pods.end(driver, names.EXIT_STOPPED, "stopped: the operator asked the driver to end after its batch")

    def is_given_back(found: Object) -> bool:
        return (condition(found, "QuotaReserved") or {}).get("status") == "False"

    given_back = plane.wait_for("workload/fleet", is_given_back, namespace)
    assert "admission" not in given_back["status"]
    assert pods.of("head") + pods.of("worker") + pods.of("driver") == []

    queues.say({"Evicted": "False"})
    queues.admit()
    pods.wait("driver", 1)
    plane.kubectl("patch", "cfleet/fleet", "-n", namespace, "--type=merge", "-p", '{"spec":{"suspend":true}}')
    plane.wait_for("cfleet/fleet", "Suspended", namespace)
    eventually(lambda: plane.items("workloads", namespace), until=lambda left: not left, within=30, what="it is gone")


@pytest.mark.parametrize(
    "queues",
    [
        pytest.param(
            OLDEST,
            id="oldest Kueue",
            marks=pytest.mark.variant_of(
                "tests/integration/test_queues.py::test_kueue_is_told_that_a_fleet_works_although_a_pod_of_it_is_pending"
            ),
        ),
        pytest.param(NEWEST, id="newest Kueue"),
    ],
    indirect=True,
)
def test_kueue_is_told_that_a_fleet_works_although_a_pod_of_it_is_pending(queues: Queues) -> None:
    plane, namespace = queues.plane, queues.namespace
    queues.add_flavor_and_priority()
    fleet = queued_fleet(workers={"collectorsPerPod": 1})
    fleet["spec"]["collectors"] |= {"replicas": 2, "minAvailable": 1}
    plane.apply(fleet, namespace)
    plane.wait_for("workload/fleet", lambda found: bool(found["spec"]["podSets"]), namespace)
    queues.admit()
    pods = Pods(plane, namespace)
    pods.wait("worker", 2)
    for role in ("head", "driver"):
        pods.run(role, 1)
    played.report(plane, namespace, available=1)
    plane.wait_for("cfleet/fleet", "Ready", namespace)
    found = plane.wait_for("workload/fleet", "PodsReady", namespace)
    told_kueue = (condition(found, "PodsReady") or {})["message"]
    assert told_kueue == "the fleet is Ready: 1 of 2 collectors run acknowledged weights"


def test_a_fleet_keeps_its_place_in_the_queue_while_kueue_is_installed_and_upgraded(
    control_plane: ControlPlane, fleet_crd: None, kueue_can_be_had: None, namespace: str, tmp_path: Path
) -> None:
    plane = control_plane
    old, new = Queues(plane, namespace, "v1beta1"), Queues(plane, namespace, "v1beta2")
    with operator_of_queues(plane, tmp_path, namespace):
        # Without a priority, whose fields only Kueue's own webhook converts.
        plane.apply(queued_fleet(workers={"collectorsPerPod": 1}), namespace)
        plane.wait_for("cfleet/fleet", lambda f: told(f, "Admitted") == ("False", "KueueMissing"), namespace)

        kueue_crds.install(plane, KUEUE_OLDEST)
        plane.wait_for("cfleet/fleet", lambda f: told(f, "Admitted") == ("False", "WaitingForQuota"), namespace)
        assert old.written_in() == {old.api}
        uid = old.stored()["metadata"]["uid"]

        # As Kueue 0.20 is to do.
        kueue_crds.install(plane, KUEUE_NEWEST, unserved="v1beta1")
        plane.kubectl("scale", "-n", namespace, "cfleet/fleet", "--replicas=3")
        eventually(
            lambda: [one["count"] for one in new.stored()["spec"]["podSets"]],
            until=lambda counts: counts == [1, 1, 3],
            within=60,
            what="a Workload of three workers",
            # The API server serves the new version only some time after it has stored the CRD.
            tolerate=(KubernetesError,),
        )
        assert new.written_in() == {new.api}
        assert new.stored()["metadata"]["uid"] == uid
        new.add_flavor_and_priority()
        new.admit()
        Pods(plane, namespace).wait("driver", 1)
