"""templates/statuspolicy.yaml: of the status a driver writes its own part, and the API server sees to it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.cluster.control_plane import ControlPlane
from tests.cluster.errors import KubernetesError
from tests.delivery.helm import Helm, HelmError
from tests.delivery.operator_chart.conftest import Namespaces
from tests.delivery.operator_chart.releases import NAME, install, served
from tests.delivery.operator_chart.rendering import of_kind, only, rendered
from tests.integration.played import manifest
from tests.wait import eventually

ON = ("--set", "statusPolicy.enabled=true")
OFF = ("--set", "statusPolicy.enabled=false")
POLICY = "ValidatingAdmissionPolicy"
ORDERS = {"drainPods": ["worker"], "driver": "driver", "since": "2026-01-01T00:00:00Z"}
# The rights of each driver in its own namespace, whatever its account is called.
DRIVER = "a-driver"


@pytest.mark.parametrize("words", [(), ON], ids=["by default", "as asked for"])
def test_a_release_for_the_whole_cluster_has_a_policy(helm: Helm, words: tuple[str, ...]) -> None:
    objects = rendered(helm, *words)
    assert only(objects, f"{POLICY}Binding")["spec"]["policyName"] == only(objects, POLICY)["metadata"]["name"]


def test_a_release_for_the_whole_cluster_has_no_policy_if_that_is_asked_for(helm: Helm) -> None:
    assert of_kind(rendered(helm, *OFF), POLICY) == []


def test_a_release_of_some_namespaces_has_nothing_cluster_wide(helm: Helm) -> None:
    assert of_kind(rendered(helm, watchNamespaces=["a"]), POLICY) == []
    with pytest.raises(HelmError, match=r"statusPolicy.enabled: the policy is cluster-wide"):
        rendered(helm, *ON, watchNamespaces=["a"])


def write(plane: ControlPlane, namespace: str, account: str, **status: Any) -> str:
    """Apply to the status as that account; what the API server said if it refused."""
    fleet = {key: value for key, value in manifest().items() if key in ("apiVersion", "kind", "metadata")}
    who = ("--as", account, f"--field-manager={account.rpartition(':')[2]}")
    words = ("apply", "--server-side", "--force-conflicts", "--subresource=status", "-n", namespace, *who, "-f", "-")
    try:
        plane.kubectl(*words, input=json.dumps({**fleet, "status": status}))
    except KubernetesError as refused:
        return str(refused)
    return ""


def test_a_driver_cannot_say_what_is_the_operators_to_say(
    cluster_helm: Helm, plane: ControlPlane, namespaces: Namespaces
) -> None:
    system, here = namespaces("status-policy"), namespaces("lab")
    install(cluster_helm, system)
    served(plane)
    plane.apply(manifest(replicas=1), here)
    plane.kubectl("create", "serviceaccount", DRIVER, "-n", here)
    rights = "--verb=patch", "--resource=collectorfleets.collectorfleet.dev/status"
    plane.kubectl("create", "role", DRIVER, "-n", here, *rights)
    plane.kubectl("create", "rolebinding", DRIVER, "-n", here, f"--role={DRIVER}", f"--serviceaccount={here}:{DRIVER}")
    driver, operator = f"system:serviceaccount:{here}:{DRIVER}", f"system:serviceaccount:{system}:{NAME}"

    # A policy is in force some time after it was made.
    eventually(
        lambda: "only the operator may write status.phase" in write(plane, here, driver, phase="Completed"),
        within=30,
        what="a driver's word on the phase is refused",
    )
    assert write(plane, here, driver, driverIncarnation=3, fleetUID="0") == ""
    assert write(plane, here, operator, phase="Pending", replicas=1) == ""
    for name, value in {"replicas": 7, "orders": ORDERS, "observedGeneration": 9}.items():
        assert f"only the operator may write status.{name}" in write(plane, here, driver, **{name: value})
    # What the operator wrote stays as it is beside a driver's report.
    assert write(plane, here, driver, driverIncarnation=4) == ""
    found = plane.get("cfleet/fleet", here)["status"]
    assert (found["phase"], found["replicas"], found["driverIncarnation"]) == ("Pending", 1, 4)
