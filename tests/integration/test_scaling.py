"""Whoever scales a fleet: kubectl, an HPA, and a manifest in git that leaves the number to them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml
from tests.cluster.binaries import ROOT
from tests.cluster.client import Object, condition
from tests.cluster.control_plane import ControlPlane
from tests.cluster.errors import KubernetesError
from tests.integration import played
from tests.integration.metrics_server import MetricsServer, metrics_server
from tests.integration.played import Pods
from tests.wait import eventually

from collectorfleet_api import names

PAGE = ROOT / "docs/scaling.md"
NAME = "cartpole"


@pytest.fixture(scope="module")
def metrics(control_plane: ControlPlane) -> Iterator[MetricsServer]:
    """Metrics as the test says."""
    with metrics_server(control_plane, control_plane.pki.server_cert, control_plane.pki.server_key) as served:
        yield served


def documented(kind: str) -> list[Object]:
    """The manifests of that kind in the page, as they stand there."""
    found = [yaml.safe_load(text) for text in re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(), re.M | re.S)]
    return [one for one in found if one.get("kind") == kind]


def hpa(metric_type: str) -> Object:
    """That of the page, but that it gets smaller at once."""
    [found] = [one for one in documented("HorizontalPodAutoscaler") if one["spec"]["metrics"][0]["type"] == metric_type]
    found["spec"]["behavior"]["scaleDown"]["stabilizationWindowSeconds"] = 0
    return found


def fleet(**spec: Any) -> Object:
    """One whose manifest leaves the number of collectors to others."""
    made = played.manifest(NAME, **spec)
    del made["spec"]["collectors"]["replicas"]
    return made


def collects(plane: ControlPlane, namespace: str, collectors: int, per_pod: int = 1) -> None:
    """The fleet runs with as many as it asks for."""
    pods = Pods(plane, namespace, NAME)
    for role, count in (("head", 1), ("worker", -(-collectors // per_pod)), ("driver", 1)):
        pods.run(role, count)
    for pod in pods.of("worker"):
        pods.set_status(pod, startTime=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
    played.report(plane, namespace, collectors, NAME)
    plane.wait_for(f"cfleet/{NAME}", lambda f: f["status"]["replicas"] == collectors, namespace, within=60)


def replicas(plane: ControlPlane, namespace: str) -> int:
    return int(plane.get(f"cfleet/{NAME}", namespace)["spec"]["collectors"]["replicas"])


def becomes(plane: ControlPlane, namespace: str, wanted: int) -> None:
    def what() -> str:
        found = plane.get(f"hpa/{NAME}", namespace)
        return f"{wanted} replicas; the HPA: {json.dumps(found.get('status', {}).get('conditions', []))}"

    eventually(
        lambda: (replicas(plane, namespace), what()), until=lambda now: now[0] == wanted, within=90, what=str(wanted)
    )


@pytest.mark.usefixtures("fleet_operator")
def test_an_hpa_on_an_external_metric_scales_a_fleet_whose_pods_hold_several(
    control_plane: ControlPlane, namespace: str, metrics: MetricsServer
) -> None:
    metrics.external = 2
    control_plane.apply(fleet(workers={"collectorsPerPod": 2}), namespace)
    control_plane.kubectl("scale", f"cfleet/{NAME}", "--replicas=2", "-n", namespace)
    collects(control_plane, namespace, 2, per_pod=2)
    control_plane.apply(hpa("External"), namespace)
    metrics.external = 6
    becomes(control_plane, namespace, 6)
    assert metrics.asked[-1] == "collectorfleet_collectors_needed?labelSelector=fleet%3Dcartpole"
    # Three pods of two, and not six: the HPA counts collectors.
    collects(control_plane, namespace, 6, per_pod=2)
    # Applied again, as GitOps does, the manifest leaves alone what it does not say.
    control_plane.apply(fleet(workers={"collectorsPerPod": 2}), namespace)
    assert replicas(control_plane, namespace) == 6
    metrics.external = 3
    becomes(control_plane, namespace, 3)


@pytest.mark.usefixtures("fleet_operator")
def test_an_hpa_on_the_cpu_of_its_pods_scales_a_fleet_with_one_collector_in_each(
    control_plane: ControlPlane, namespace: str, metrics: MetricsServer
) -> None:
    control_plane.apply(fleet(workers={"collectorsPerPod": 1}), namespace)
    control_plane.kubectl("scale", f"cfleet/{NAME}", "--replicas=2", "-n", namespace)
    collects(control_plane, namespace, 2)
    [first, _] = Pods(control_plane, namespace, NAME).of("worker")
    request = first["spec"]["containers"][0]["resources"]["requests"]["cpu"]
    assert request.endswith("m")
    # 140 % of what each asks for, where 70 % is wanted.
    metrics.cpu_millis = int(request.removesuffix("m")) * 14 // 10
    control_plane.apply(hpa("Resource"), namespace)
    becomes(control_plane, namespace, 4)


@pytest.mark.usefixtures("fleet_operator")
def test_an_hpa_on_the_cpu_of_pods_that_hold_several_collectors_says_that_it_cannot(
    control_plane: ControlPlane, namespace: str, metrics: MetricsServer
) -> None:
    control_plane.apply(fleet(workers={"collectorsPerPod": 2}), namespace)
    control_plane.kubectl("scale", f"cfleet/{NAME}", "--replicas=2", "-n", namespace)
    collects(control_plane, namespace, 2, per_pod=2)
    metrics.cpu_millis = 1000
    control_plane.apply(hpa("Resource"), namespace)
    control_plane.wait_for(
        f"hpa/{NAME}", lambda one: (condition(one, "ScalingActive") or {})["status"] == "False", namespace, within=30
    )
    assert replicas(control_plane, namespace) == 2


@pytest.mark.usefixtures("fleet_crd")
def test_a_number_that_is_in_no_manifest_belongs_to_whoever_scales(control_plane: ControlPlane, namespace: str) -> None:
    def owners() -> set[str]:
        shown = ("get", f"cfleet/{NAME}", "-n", namespace, "-o", "json", "--show-managed-fields")
        found = json.loads(control_plane.kubectl(*shown))["metadata"]["managedFields"]
        spec = ((one["operation"], one["fieldsV1"].get("f:spec", {})) for one in found)
        return {how for how, fields in spec if "f:replicas" in fields.get("f:collectors", {})}

    def scale(collectors: int) -> None:
        control_plane.kubectl("scale", f"cfleet/{NAME}", f"--replicas={collectors}", "-n", namespace)

    control_plane.apply(fleet(), namespace)
    assert (replicas(control_plane, namespace), owners()) == (1, set())
    scale(8)
    control_plane.apply(fleet(), namespace)
    # Kubernetes writes down no owner of what only the scale subresource of a custom resource has set.
    assert (replicas(control_plane, namespace), owners()) == (8, set())
    # A manifest that says a number takes it over; who scales after that has it, and the manifest is told of a conflict.
    control_plane.apply(played.manifest(NAME, replicas=3), namespace)
    assert (replicas(control_plane, namespace), owners()) == (3, {"Apply"})
    scale(5)
    assert owners() == {"Update"}
    with pytest.raises(KubernetesError, match=r"conflict with .*replicas"):
        control_plane.apply(played.manifest(NAME, replicas=3), namespace)
    # Taken out of the manifest it stays as it was scaled.
    control_plane.apply(fleet(), namespace)
    assert replicas(control_plane, namespace) == 5
    # And goes back to 1 where nobody has.
    control_plane.delete(f"cfleet/{NAME}", namespace)
    control_plane.apply(played.manifest(NAME, replicas=3), namespace)
    control_plane.apply(fleet(), namespace)
    assert replicas(control_plane, namespace) == 1


def test_the_page_scales_fleets_as_they_are_called() -> None:
    for kind in ("HorizontalPodAutoscaler", "ScaledObject"):
        found = documented(kind)
        assert found
        for one in found:
            target = one["spec"]["scaleTargetRef"]
            assert (target["apiVersion"], target["kind"]) == (names.API_VERSION, names.KIND)
