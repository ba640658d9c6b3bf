"""Kubernetes adds the aggregate roles to its own: whoever may edit a namespace may edit its fleets."""

from __future__ import annotations

import pytest
from tests.cluster.control_plane import ControlPlane
from tests.cluster.errors import KubernetesError
from tests.delivery.helm import Helm
from tests.delivery.operator_chart.conftest import Namespaces
from tests.delivery.operator_chart.releases import install, served
from tests.wait import eventually

# What each of Kubernetes' roles may do, and the first thing that it may not.
ROLES = {
    "view": (["get collectorfleets", "watch collectorfleets"], "patch collectorfleets"),
    "edit": (
        ["list collectorfleets", "create collectorfleets", "deletecollection collectorfleets"],
        "patch collectorfleets --subresource=status",
    ),
    "admin": (["get collectorfleets", "patch collectorfleets --subresource=scale"], "create nodes"),
}


def may(plane: ControlPlane, user: str, what: str, namespace: str) -> bool:
    try:
        return plane.kubectl("auth", "can-i", *what.split(), "--as", user, "-n", namespace).strip() == "yes"
    except KubernetesError as refused:
        if refused.stdout.strip() != "no":
            raise
        return False


@pytest.mark.parametrize("role", ROLES)
def test_who_has_a_role_of_kubernetes_has_it_for_fleets(
    cluster_helm: Helm, plane: ControlPlane, namespaces: Namespaces, role: str
) -> None:
    here, user = namespaces("aggregation"), "somebody"
    install(cluster_helm, here)
    served(plane)
    plane.kubectl("create", "rolebinding", user, f"--clusterrole={role}", f"--user={user}", "-n", here)
    allowed, refused = ROLES[role]
    for what in allowed:
        # The controller that adds them up takes its time.
        eventually(lambda what=what: may(plane, user, what, here), within=20, what=f"{role}: {what}")  # type: ignore[misc]
    assert not may(plane, user, refused, here)
