"""The life of a release: fleets and the CRD outlive it, and what somebody else brought can be taken over."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from tests.cluster.binaries import ROOT
from tests.cluster.control_plane import ControlPlane
from tests.delivery import plain_manifest
from tests.delivery.helm import Helm, HelmError
from tests.delivery.operator_chart.conftest import Namespaces
from tests.delivery.operator_chart.releases import CRD, DEPLOYMENT, NAME, install, older_chart, served
from tests.delivery.operator_chart.rendering import CHART
from tests.integration.played import manifest

from collectorfleet_api.schema.crd import COLUMNS

FLEET = "collectorfleet/fleet"
# What docs/install.md quotes.
NOT_OURS = "exists and cannot be imported into the current release: invalid ownership metadata"


def fleet(plane: ControlPlane, namespace: str) -> str:
    """A fleet in that namespace; returns its uid."""
    served(plane)
    plane.apply(manifest(), namespace)
    return uid(plane, FLEET, namespace)


def uid(plane: ControlPlane, target: str, namespace: str | None = None) -> str:
    return str(plane.get(target, namespace)["metadata"]["uid"])


def columns(plane: ControlPlane) -> list[str]:
    (version,) = plane.get(CRD)["spec"]["versions"]
    return [column["name"] for column in version["additionalPrinterColumns"]]


def memory(plane: ControlPlane, namespace: str) -> str:
    (container,) = plane.get(DEPLOYMENT, namespace)["spec"]["template"]["spec"]["containers"]
    return str(container["resources"]["limits"]["memory"])


def test_a_release_is_upgraded_rolled_back_and_uninstalled_and_its_fleets_stay(
    cluster_helm: Helm, plane: ControlPlane, namespaces: Namespaces
) -> None:
    here = namespaces("release")
    install(cluster_helm, here)
    ours, crd = fleet(plane, here), uid(plane, CRD)
    assert memory(plane, here) == "512Mi"
    cluster_helm("upgrade", NAME, CHART, "--namespace", here, "--set", "resources.limits.memory=1Gi")
    assert memory(plane, here) == "1Gi"
    cluster_helm("rollback", NAME, "1", "--namespace", here)
    assert memory(plane, here) == "512Mi"
    cluster_helm("uninstall", NAME, "--namespace", here)
    plane.wait_gone(DEPLOYMENT, here)
    plane.wait_gone(f"clusterrole/{NAME}")
    assert (uid(plane, FLEET, here), uid(plane, CRD)) == (ours, crd)


def test_it_can_be_installed_again_under_its_name(
    cluster_helm: Helm, plane: ControlPlane, namespaces: Namespaces
) -> None:
    here = namespaces("again")
    install(cluster_helm, here)
    ours = fleet(plane, here)
    cluster_helm("uninstall", NAME, "--namespace", here)
    install(cluster_helm, here)
    assert uid(plane, FLEET, here) == ours


def test_under_another_name_it_is_told_whose_the_crd_is_and_can_take_it_over(
    cluster_helm: Helm, plane: ControlPlane, namespaces: Namespaces
) -> None:
    here, there = namespaces("first"), namespaces("second")
    install(cluster_helm, here)
    ours = fleet(plane, here)
    cluster_helm("uninstall", NAME, "--namespace", here)
    with pytest.raises(HelmError, match=f"CustomResourceDefinition .*{NOT_OURS}"):
        install(cluster_helm, there, name="second")
    install(cluster_helm, there, "--take-ownership", name="second")
    assert plane.get(CRD)["metadata"]["annotations"]["meta.helm.sh/release-name"] == "second"
    assert uid(plane, FLEET, here) == ours


def test_an_upgrade_brings_the_crd_of_its_version_and_touches_no_fleet(
    cluster_helm: Helm, plane: ControlPlane, namespaces: Namespaces, tmp_path: Path
) -> None:
    here = namespaces("upgrade")
    install(cluster_helm, here, chart=older_chart(tmp_path / "older"))
    fleet(plane, here)
    before = plane.get(FLEET, here)
    cluster_helm("upgrade", NAME, CHART, "--namespace", here, "--reset-then-reuse-values")
    assert columns(plane) == [name for name, *_ in COLUMNS]
    cluster_helm("rollback", NAME, "1", "--namespace", here)
    assert columns(plane) == [name for name, *_ in COLUMNS[:-1]]
    assert plane.get(FLEET, here) == before


def test_a_release_that_gives_up_the_crd_leaves_it_there(
    cluster_helm: Helm, plane: ControlPlane, namespaces: Namespaces
) -> None:
    here = namespaces("gives-up")
    install(cluster_helm, here)
    ours = fleet(plane, here)
    cluster_helm("upgrade", NAME, CHART, "--namespace", here, "--set", "crds.enabled=false")
    assert uid(plane, FLEET, here) == ours


def test_without_keep_uninstalling_takes_crd_and_fleets_along(
    cluster_helm: Helm, plane: ControlPlane, namespaces: Namespaces
) -> None:
    here = namespaces("without-keep")
    notes = install(cluster_helm, here, "--set", "crds.keep=false")
    assert "Uninstalling DELETES the CRD and every fleet of the cluster" in notes
    fleet(plane, here)
    cluster_helm("uninstall", NAME, "--namespace", here)
    plane.wait_gone(CRD)


def test_what_was_applied_by_kubectl_is_taken_over_without_another_pod(cluster_helm: Helm, plane: ControlPlane) -> None:
    plane.apply_crds(ROOT / "crds")
    plane.apply(plain_manifest.MANIFEST)
    try:
        before = plane.get(DEPLOYMENT, plain_manifest.NAMESPACE)
        with pytest.raises(HelmError, match=NOT_OURS):
            install(cluster_helm, plain_manifest.NAMESPACE)
        install(cluster_helm, plain_manifest.NAMESPACE, "--take-ownership")
        after = plane.get(DEPLOYMENT, plain_manifest.NAMESPACE)
        assert after["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "Helm"
        for it in (before, after):
            assert it["spec"] == before["spec"]
            assert it["metadata"]["uid"] == before["metadata"]["uid"]
    finally:
        rest = [one for one in yaml.safe_load_all(plain_manifest.MANIFEST.read_text()) if one["kind"] != "Namespace"]
        plane.kubectl("delete", "--ignore-not-found", "-f", "-", input=yaml.safe_dump_all(rest))
