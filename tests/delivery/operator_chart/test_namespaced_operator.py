"""The operator with nothing but the rights that a release for some namespaces gives it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cluster.control_plane import ControlPlane
from tests.cluster.errors import KubernetesError
from tests.delivery.helm import Helm, HelmError
from tests.delivery.operator_chart.conftest import Namespaces
from tests.delivery.operator_chart.releases import CRD, DEPLOYMENT, NAME, install, running, served, serving
from tests.integration import played
from tests.integration.played import Pods, manifest
from tests.wait import eventually

CHILDREN = "rayclusters,jobs,serviceaccounts,roles,rolebindings,leases"


def children(plane: ControlPlane, namespace: str) -> list[str]:
    found = plane.items(CHILDREN, namespace)
    return [one["metadata"]["name"] for one in found if one["metadata"]["name"].startswith("fleet")]


def test_fleets_of_its_namespaces_live_and_end_and_no_request_of_it_is_refused(
    cluster_helm: Helm, plane: ControlPlane, namespaces: Namespaces, tmp_path: Path
) -> None:
    home, first, second, third = (namespaces(name) for name in ("home", "first", "second", "third"))
    install(cluster_helm, home, *serving((first, second)))
    served(plane)
    # It is there before the others: an operator that heard of it would have taken it up first.
    plane.apply(manifest(), third)
    with running(plane, tmp_path / "operator", home) as operator:
        for namespace in (first, second):
            pods, _ = played.start(plane, namespace)
            assert plane.find("raycluster/fleet", namespace)
        pods.end(pods.of("driver")[0], 0)
        plane.wait_for("collectorfleet/fleet", "Completed", second)
        plane.wait_gone("raycluster/fleet", second)
        assert operator.running
    assert "forbidden" not in operator.log.read_text().lower()
    assert plane.get("collectorfleet/fleet", third)["status"] == {"observedGeneration": -1}
    assert children(plane, third) == []


def test_a_right_that_it_lacks_is_named_in_its_log(
    cluster_helm: Helm, plane: ControlPlane, namespaces: Namespaces, tmp_path: Path
) -> None:
    home = namespaces("home")
    install(cluster_helm, home, *serving((home,)))
    served(plane)
    rules = [rule for rule in plane.get(f"role/{NAME}", home)["rules"] if "jobs" not in rule["resources"]]
    plane.kubectl("patch", f"role/{NAME}", "-n", home, "--type=merge", "-p", json.dumps({"rules": rules}))
    with running(plane, tmp_path / "operator", home, wait=False) as operator:
        said = eventually(operator.log.read_text, until=lambda text: "forbidden" in text, within=20, what="the refusal")
    assert 'cannot list resource "jobs"' in said


def test_two_releases_side_by_side_do_not_disturb_each_other(
    cluster_helm: Helm, plane: ControlPlane, namespaces: Namespaces, tmp_path: Path
) -> None:
    one, other = namespaces("one"), namespaces("other")
    install(cluster_helm, one, *serving((one,)))
    install(cluster_helm, other, *serving((other,), crd=False))
    served(plane)
    with running(plane, tmp_path / "other", other) as operator:
        with running(plane, tmp_path / "one", one):
            for namespace in (one, other):
                played.start(plane, namespace)
        before = plane.get("collectorfleet/fleet", one)
        cluster_helm("uninstall", NAME, "--namespace", one)
        plane.wait_gone(DEPLOYMENT, one)
        # The one that is left goes on with its own fleet, and looks at no other.
        plane.kubectl("scale", "collectorfleet/fleet", "--replicas=2", "-n", other)
        Pods(plane, other).wait("worker", 2)
        assert plane.get("collectorfleet/fleet", one)["status"] == before["status"]
        assert operator.running
    assert plane.find(DEPLOYMENT, other)
    assert plane.find(f"role/{NAME}", other)


def test_such_releases_have_no_cluster_wide_object_but_the_crd(
    cluster_helm: Helm, plane: ControlPlane, namespaces: Namespaces
) -> None:
    one, other = namespaces("one"), namespaces("other")
    install(cluster_helm, one, *serving((one,)))
    install(cluster_helm, other, *serving((other,), crd=False))
    kinds = plane.kubectl("api-resources", "--namespaced=false", "--verbs=list", "-o", "name").split()
    assert "clusterroles.rbac.authorization.k8s.io" in kinds
    label = "app.kubernetes.io/managed-by=Helm"
    found = plane.kubectl("get", ",".join(kinds), "-l", label, "-o", "name").split()
    assert found == [CRD.replace("/", ".apiextensions.k8s.io/")]


def test_a_second_release_of_its_name_for_a_namespace_that_is_served_is_refused(
    cluster_helm: Helm, plane: ControlPlane, namespaces: Namespaces
) -> None:
    one, other = namespaces("one"), namespaces("other")
    install(cluster_helm, one, *serving((one,)))
    with pytest.raises(HelmError, match="cannot be imported into the current release"):
        install(cluster_helm, other, *serving((one,), crd=False))


def test_its_account_sees_no_other_namespace(cluster_helm: Helm, plane: ControlPlane, namespaces: Namespaces) -> None:
    home, other = namespaces("home"), namespaces("other")
    install(cluster_helm, home, *serving((home,)))
    served(plane)
    account = ("--as", f"system:serviceaccount:{home}:{NAME}")
    assert plane.kubectl("get", "collectorfleets", "-n", home, "-o", "name", *account) == ""
    with pytest.raises(KubernetesError, match="Forbidden"):
        plane.kubectl("get", "collectorfleets", "-n", other, *account)
