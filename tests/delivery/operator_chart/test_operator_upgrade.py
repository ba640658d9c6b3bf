"""Fleets that run while CRD and operator are upgraded."""

from __future__ import annotations

from pathlib import Path

from tests.cluster.control_plane import ControlPlane
from tests.delivery.helm import Helm
from tests.delivery.operator_chart.conftest import Namespaces
from tests.delivery.operator_chart.releases import NAME, install, older_chart, running, served
from tests.delivery.operator_chart.rendering import CHART
from tests.integration import played
from tests.integration.played import Pods

ROLES = ("head", "worker", "driver")


def uids(pods: Pods) -> set[str]:
    return {pod["metadata"]["uid"] for role in ROLES for pod in pods.of(role)}


def test_no_pod_is_restarted_and_no_status_lost(
    cluster_helm: Helm, plane: ControlPlane, namespaces: Namespaces, tmp_path: Path
) -> None:
    here = namespaces("upgrade")
    install(cluster_helm, here, chart=older_chart(tmp_path / "older"))
    served(plane)
    with running(plane, tmp_path / "before", here):
        pods, _ = played.start(plane, here)
    before, ran = plane.get("collectorfleet/fleet", here), uids(pods)
    assert len(ran) == len(ROLES)
    cluster_helm("upgrade", NAME, CHART, "--namespace", here)
    assert plane.get("collectorfleet/fleet", here) == before
    with running(plane, tmp_path / "after", here):
        # That it acts on a change says that it has looked at what was there.
        plane.kubectl("scale", "collectorfleet/fleet", "--replicas=2", "-n", here)
        pods.wait("worker", 2)
        after = plane.get("collectorfleet/fleet", here)["status"]
    assert ran < uids(pods)
    for kept in ("weights", "progress", "driver"):
        assert after[kept] == before["status"][kept], kept
