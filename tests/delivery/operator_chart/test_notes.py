"""NOTES.txt: what whoever has installed the chart does next."""

from __future__ import annotations

import pytest
from tests.cluster.control_plane import ControlPlane
from tests.delivery.helm import Helm
from tests.delivery.operator_chart.conftest import Namespaces
from tests.delivery.operator_chart.releases import NAME, install, served
from tests.integration.played import manifest


def test_the_notes_end_in_commands_that_work(cluster_helm: Helm, plane: ControlPlane, namespaces: Namespaces) -> None:
    here = namespaces("notes")
    notes = install(cluster_helm, here)
    assert "serves the fleets of all namespaces" in notes
    assert "Uninstalling keeps the CRD and every fleet" in notes
    commands = [line.strip().removeprefix("kubectl ") for line in notes.splitlines() if line.startswith("  kubectl ")]
    wait, label, apply, watch = commands
    assert wait == f"-n {here} rollout status deployment/{NAME}"
    assert plane.kubectl(*f"-n {here} get deployment/{NAME} -o name".split())
    plane.kubectl(*label.split())
    assert apply == "apply -f examples/cartpole.yaml"
    served(plane)
    plane.apply(manifest(), here)
    assert "fleet" in plane.kubectl(*watch.removesuffix(" --watch").split(), "-n", here)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ("crds.enabled=false", "This release does not contain the CRD"),
        ("rbac.create=false", "This release grants no rights"),
        ("serviceAccount.create=false,serviceAccount.name=default", "Wait until the operator is ready"),
    ],
    ids=["crds", "rbac", "account"],
)
def test_the_notes_say_what_is_left_to_others(
    cluster_helm: Helm, namespaces: Namespaces, values: str, said: str
) -> None:
    assert said in install(cluster_helm, namespaces("notes"), "--set", values)


def test_the_notes_name_the_namespaces_that_are_served(cluster_helm: Helm, namespaces: Namespaces) -> None:
    here = namespaces("notes")
    notes = install(cluster_helm, here, "--set", f"watchNamespaces={{{here}}}")
    assert f"serves the fleets of {here}." in notes
    assert f"kubectl apply -n {here} -f examples/cartpole.yaml" in notes


def test_a_cluster_without_kuberay_is_told_so_and_one_with_it_is_not(
    cluster_helm: Helm, namespaces: Namespaces
) -> None:
    assert "KubeRay's RayClusters" not in install(cluster_helm, namespaces("notes"))
