"""The operator without what it needs for a while: itself, the API server, KubeRay, its own CRD."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.cluster import binaries
from tests.cluster import control_plane as control_planes
from tests.cluster.control_plane import ControlPlane
from tests.cluster.process import Component
from tests.integration import played
from tests.integration.operator_process import operator
from tests.integration.played import Pods, manifest, message, told
from tests.wait import eventually

# Everything is listed every 30 s.
LISTED_AGAIN = 90


@pytest.fixture
def bare_plane(tmp_path: Path) -> Iterator[ControlPlane]:
    """A control plane that knows neither RayClusters nor CollectorFleets."""
    if reason := control_planes.missing():
        pytest.skip(f"left out the tests on a real API server: {reason}")
    plane = ControlPlane(tmp_path, kuberay=False)
    plane.start()
    try:
        yield plane
    finally:
        plane.stop()


def event_names(plane: ControlPlane, namespace: str) -> list[str]:
    events = plane.items("events", namespace)
    return sorted(e["metadata"]["name"] for e in events if e["involvedObject"]["kind"] == "CollectorFleet")


# Controllers wait up to 30 s, and as long again by chance, before they ask a lost API server once more.
BACK_WITHIN: Final = 150


def kuberay_is_back(plane: ControlPlane, namespace: str, fleet: str) -> None:
    Pods(plane, namespace, fleet).wait("head", 1, within=BACK_WITHIN)


def test_a_killed_operator_that_returns_disturbs_nothing_and_sees_what_it_missed(
    control_plane: ControlPlane, fleet_operator: Component, namespace: str
) -> None:
    played.start(control_plane, namespace)
    versions = [
        control_plane.get(name, namespace)["metadata"]["resourceVersion"]
        for name in ("role/fleet-driver", "lease/fleet-driver")
    ]
    events = event_names(control_plane, namespace)
    fleet_operator.kill()
    played.report(control_plane, namespace, available=0)
    Pods(control_plane, namespace).hold_up("worker", "ErrImagePull", "not found")
    fleet_operator.launch()
    fleet_operator.wait_ready(30)
    seen = control_plane.wait_for("cfleet/fleet", lambda f: told(f, "Ready")[0] == "False", namespace, within=60)
    assert told(seen, "RayClusterReady") == ("False", "ImagePullBackOff")
    assert versions == [
        control_plane.get(name, namespace)["metadata"]["resourceVersion"]
        for name in ("role/fleet-driver", "lease/fleet-driver")
    ]
    assert set(events) < set(event_names(control_plane, namespace))

    # What was told before is not told again.
    before = event_names(control_plane, namespace)
    fleet_operator.kill()
    fleet_operator.launch()
    fleet_operator.wait_ready(30)
    control_plane.kubectl("scale", "cfleet/fleet", "--replicas=2", "-n", namespace)
    control_plane.wait_for("cfleet/fleet", lambda f: f["status"]["observedGeneration"] == 2, namespace, within=60)
    assert event_names(control_plane, namespace) == before


@pytest.mark.variant_of(
    "tests/e2e/test_outages.py::test_two_fleets_run_on_while_the_operator_and_then_the_api_server_is_away_and_the_status_is_true_again"
)
def test_the_status_is_true_again_after_an_outage_that_the_operator_noticed(
    control_plane: ControlPlane, fleet_operator: Component, namespace: str
) -> None:
    played.start(control_plane, namespace)
    before = len(fleet_operator.log.read_text())

    def says(words: str) -> bool:
        return words in fleet_operator.log.read_text()[before:]

    control_plane.kill("kube-apiserver")
    eventually(lambda: says("the API server does not answer"), within=60, what="the outage in the log")
    control_plane.start("kube-apiserver")
    Pods(control_plane, namespace).hold_up("worker", "ErrImagePull", "not found")
    control_plane.wait_for(
        "cfleet/fleet", lambda f: told(f, "RayClusterReady")[1] == "ImagePullBackOff", namespace, within=60
    )
    assert fleet_operator.running
    pods = Pods(control_plane, namespace)
    assert (len(pods.of("head")), len(pods.of("worker")), len(pods.of("driver"))) == (1, 1, 1)
    control_plane.apply(manifest("next", replicas=1), namespace)
    kuberay_is_back(control_plane, namespace, "next")


def test_a_list_that_is_forbidden_is_said_and_ends_nothing(
    control_plane: ControlPlane, fleet_operator: Component, namespace: str
) -> None:
    role = control_plane.get("clusterrole/collectorfleet-operator")
    without = [rule for rule in role["rules"] if "leases" not in rule["resources"]]
    assert len(without) < len(role["rules"])
    name = {"apiVersion": role["apiVersion"], "kind": role["kind"], "metadata": {"name": role["metadata"]["name"]}}
    before = len(fleet_operator.log.read_text())

    def says(words: str) -> bool:
        return words in fleet_operator.log.read_text()[before:]

    try:
        control_plane.apply({**name, "rules": without})
        eventually(lambda: says("the API server refuses a list: list leases"), within=30, what="the refusal in the log")
        # What needs no Lease goes on.
        control_plane.apply(manifest(replicas=1), namespace)
        Pods(control_plane, namespace).wait("head", 1)
    finally:
        control_plane.apply({**name, "rules": role["rules"]})
    eventually(lambda: says("the API server answers again"), within=LISTED_AGAIN, what="the lists again")
    assert fleet_operator.running
    Pods(control_plane, namespace).wait("driver", 1)


@pytest.mark.variant_of(
    "tests/unit/collectorfleet_operator/edge/test_resync.py::test_what_is_refused_keeps_nothing_else_from_being_listed"
)
def test_one_list_that_is_forbidden_leaves_the_others_where_watches_broke(
    control_plane: ControlPlane, fleet_operator: Component, namespace: str
) -> None:
    """A fleet that no watch tells of is found by the lists, and they do not end at the first that is refused."""
    role = control_plane.get("clusterrole/collectorfleet-operator")
    rules = [
        {
            **rule,
            "verbs": [verb for verb in rule["verbs"] if verb != "watch" or "collectorfleets" not in rule["resources"]],
        }
        for rule in role["rules"]
        if "leases" not in rule["resources"]
    ]
    name = {"apiVersion": role["apiVersion"], "kind": role["kind"], "metadata": {"name": role["metadata"]["name"]}}
    before = len(fleet_operator.log.read_text())
    try:
        control_plane.apply({**name, "rules": rules})
        # A watch that stands is not asked again.
        control_plane.kill("kube-apiserver")
        control_plane.start("kube-apiserver")
        eventually(
            lambda: "refuses a list: list leases" in fleet_operator.log.read_text()[before:],
            within=60,
            what="the refusal in the log",
        )
        control_plane.apply(manifest(replicas=1), namespace)
        kuberay_is_back(control_plane, namespace, "fleet")
    finally:
        control_plane.apply({**name, "rules": role["rules"]})
    # It begins anew if a watch is refused meanwhile, and then says nothing of lists: what counts is that it goes on.
    Pods(control_plane, namespace).wait("driver", 1, within=BACK_WITHIN)


def test_a_watch_that_is_forbidden_leaves_the_lists(
    control_plane: ControlPlane, fleet_operator: Component, namespace: str
) -> None:
    role = control_plane.get("clusterrole/collectorfleet-operator")
    rules = [
        {**rule, "verbs": [verb for verb in rule["verbs"] if verb != "watch" or "jobs" not in rule["resources"]]}
        for rule in role["rules"]
    ]
    assert rules != role["rules"]
    name = {"apiVersion": role["apiVersion"], "kind": role["kind"], "metadata": {"name": role["metadata"]["name"]}}
    try:
        control_plane.apply({**name, "rules": rules})
        # A watch that stands is not asked again.
        fleet_operator.kill()
        fleet_operator.launch()
        fleet_operator.wait_ready(30)
        control_plane.apply(manifest(replicas=1), namespace)
        pods = Pods(control_plane, namespace)
        pods.run("driver", 1)
        control_plane.wait_for("cfleet/fleet", "DriverRunning", namespace, within=60)
        assert fleet_operator.running
    finally:
        control_plane.apply({**name, "rules": role["rules"]})


def test_without_kuberay_a_fleet_says_so_and_runs_once_it_is_installed(
    bare_plane: ControlPlane, tmp_path: Path
) -> None:
    folder = tmp_path / "operator"
    folder.mkdir()
    bare_plane.apply_crds(binaries.ROOT / "crds")
    with operator(bare_plane, folder) as process, bare_plane.temporary_namespace() as namespace:
        bare_plane.apply(manifest(replicas=1), namespace)
        seen = bare_plane.wait_for("cfleet/fleet", "Stalled", namespace)
        assert told(seen, "RayClusterReady") == ("False", "KubeRayMissing")
        assert "install the KubeRay operator" in message(seen, "Ready")
        assert bare_plane.find("job/fleet-driver", namespace) is None
        bare_plane.install_kuberay()
        Pods(bare_plane, namespace).wait("head", 1)
        bare_plane.wait_for("cfleet/fleet", lambda f: told(f, "Stalled")[0] == "False", namespace, within=60)
        assert process.running
        Pods(bare_plane, namespace).run("head", 1)
        Pods(bare_plane, namespace).run("worker", 1)
        bare_plane.wait_for("cfleet/fleet", "RayClusterReady", namespace, within=60)
        assert process.log.read_text().count("no rayclusters.ray.io in this Kubernetes") == 1


def test_a_crd_of_an_older_release_costs_one_field_and_not_the_status(bare_plane: ControlPlane, tmp_path: Path) -> None:
    folder = tmp_path / "operator"
    folder.mkdir()
    bare_plane.apply_crds(binaries.ROOT / "crds")
    schema = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties"
    patch = f'[{{"op": "remove", "path": "{schema}/phase"}}]'
    bare_plane.kubectl("patch", "crd/collectorfleets.collectorfleet.dev", "--type=json", "-p", patch)
    with operator(bare_plane, folder) as process, bare_plane.temporary_namespace() as namespace:
        bare_plane.apply([manifest("a"), manifest("b")], namespace)
        for name in ("a", "b"):
            seen = bare_plane.wait_for(f"cfleet/{name}", "Stalled", namespace, within=30)
            assert "phase" not in seen["status"]
        assert process.log.read_text().count("does not know .status.phase") == 1


def test_without_its_crd_the_operator_waits_and_serves_its_namespace_only(
    bare_plane: ControlPlane, tmp_path: Path
) -> None:
    folder = tmp_path / "operator"
    folder.mkdir()
    bare_plane.kubectl("create", "namespace", "mine")
    bare_plane.kubectl("create", "namespace", "others")
    with operator(bare_plane, folder, "--namespace=mine", wait=False) as process:
        eventually(
            lambda: process.log.read_text().count("no collectorfleets.collectorfleet.dev: apply the CRD"),
            until=lambda said: said == 1,
            within=30,
            what="one line about the CRD",
        )
        bare_plane.apply_crds(binaries.ROOT / "crds")
        process.wait_ready(30)
        for namespace in ("others", "mine"):
            bare_plane.apply(manifest(), namespace)
        bare_plane.wait_for("cfleet/fleet", "Stalled", "mine", within=60)
        assert bare_plane.get("cfleet/fleet", "others")["status"] == {"observedGeneration": -1}
        assert process.log.read_text().count("apply the CRD") == 1
