"""Priority and tolerations of a fleet reach its pods, on a real API server that knows the PriorityClasses."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.cluster.client import Object, condition
from tests.cluster.control_plane import ControlPlane
from tests.integration.played import Pods, manifest
from tests.wait import eventually

pytestmark = pytest.mark.usefixtures("fleet_operator")

SPOT = {"key": "spot", "operator": "Exists", "effect": "NoSchedule"}
GPU = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
CLASSES = {"test-fleet-low": -10, "test-fleet-high": 1000}


@pytest.fixture
def priorities(control_plane: ControlPlane) -> Iterator[None]:
    """PriorityClasses of the cluster, one below and one above the default."""
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    control_plane.apply([{**kind, "metadata": {"name": name}, "value": value} for name, value in CLASSES.items()])
    yield
    control_plane.kubectl("delete", "priorityclass", *CLASSES)


@pytest.mark.usefixtures("priorities")
def test_pods_have_the_priority_and_the_tolerations_of_their_fleet_or_their_template(
    control_plane: ControlPlane, namespace: str
) -> None:
    own = {"spec": {"priorityClassName": "test-fleet-high", "tolerations": [GPU]}}
    fleet = manifest(replicas=1, priorityClassName="test-fleet-low", tolerations=[SPOT], workers={"template": own})
    control_plane.apply(fleet, namespace)
    pods = Pods(control_plane, namespace)
    for role in ("head", "worker", "driver"):
        pods.run(role, 1)
    (head,), (worker,), (driver,) = (pods.of(role) for role in ("head", "worker", "driver"))
    assert [placed(pod, SPOT) for pod in (head, driver)] == [(-10, True)] * 2
    assert placed(worker, GPU) == (1000, True)
    assert placed(worker, SPOT) == (1000, False)


def test_a_priority_class_that_does_not_exist_is_told_in_the_status(
    control_plane: ControlPlane, namespace: str
) -> None:
    control_plane.apply(manifest(replicas=1, priorityClassName="test-fleet-hihg"), namespace)

    def messages() -> list[str]:
        found = control_plane.get("collectorfleet/fleet", namespace)
        return [(condition(found, type_) or {}).get("message", "") for type_ in ("RayClusterReady", "DriverRunning")]

    text = "no PriorityClass with name test-fleet-hihg was found; correct priorityClassName in the fleet's spec, "
    eventually(messages, until=lambda found: all(text in one for one in found), within=60, what="the missing class")


def placed(pod: Object, toleration: Object) -> tuple[int, bool]:
    """The priority that the API server found for the pod, and whether it tolerates."""
    return pod["spec"]["priority"], toleration in pod["spec"]["tolerations"]
