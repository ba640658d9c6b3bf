"""From the registry to a trained policy, as on any cluster: charts and images are pulled, and nothing else is there."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cluster import image_build
from tests.cluster.addons import OPERATOR_NAMESPACE
from tests.cluster.binaries import ROOT
from tests.cluster.client import Object
from tests.cluster.cluster import Cluster
from tests.cluster.thin_images import VERSION
from tests.delivery.helm import CHARTS, Helm
from tests.images.conftest import COLLECTOR, OPERATOR, Release

pytestmark = pytest.mark.timeout(3600)

OWN = ROOT / "examples/own_image"
# Pulling and unpacking gigabytes is part of it.
TRAINED_SECONDS = 900


def read_only() -> dict[str, Any]:
    """What docs/security.md says to write for pods whose root file system is read-only."""
    (block,) = re.findall(r"```yaml\n(spec:\n.*?readOnlyRootFilesystem.*?)```", _security(), re.DOTALL)
    spec: dict[str, Any] = yaml.safe_load(block)["spec"]
    return spec


def _security() -> str:
    return (ROOT / "docs/security.md").read_text()


def pods_of(cluster: Cluster, namespace: str) -> list[Object]:
    return cluster.items("pods", namespace, "collectorfleet.dev/fleet")


def test_the_operator_runs_from_the_registry_by_its_digest(
    cluster: Cluster, operator: Object, release: Release
) -> None:
    (pod,) = cluster.items("pods", OPERATOR_NAMESPACE)
    (status,) = pod["status"]["containerStatuses"]
    assert status["imageID"].endswith(release.digests[OPERATOR])
    assert operator["status"]["availableReplicas"] == 1


@pytest.mark.usefixtures("operator")
def test_the_example_trains_to_its_goal_from_the_registry_with_read_only_root_file_systems(
    cluster: Cluster, namespace: str, helm4: Helm, release: Release
) -> None:
    values = helm4.home / "read-only.yaml"
    values.write_text(yaml.safe_dump({"fleet": {"image": release.image(COLLECTOR), **read_only()}}))
    example = CHARTS / "collectorfleet/ci/cartpole-values.yaml"
    helm4("install", "cartpole", *release.chart("collectorfleet"), "-f", example, "-f", values, "-n", namespace)

    cluster.wait_for("cfleet/cartpole", "Ready", namespace, within=TRAINED_SECONDS)
    pods = pods_of(cluster, namespace)
    assert len(pods) == 4  # head, driver and two workers
    for pod in pods:
        (container,) = pod["spec"]["containers"]
        assert container["securityContext"]["readOnlyRootFilesystem"], pod["metadata"]["name"]
    cluster.wait_for("cfleet/cartpole", "Completed", namespace, within=TRAINED_SECONDS)


@pytest.mark.usefixtures("operator")
def test_an_image_of_three_lines_trains_with_a_package_of_its_own(
    cluster: Cluster, namespace: str, release: Release
) -> None:
    lines = [line for line in (OWN / "Dockerfile").read_text().splitlines() if line]
    assert len(lines) == 3
    own = f"localhost/own-image:{VERSION}"
    image_build.build(OWN / "Dockerfile", own, OWN)
    pushed = f"{release.registry}/me/minigrid:1"
    image_build.push(own, pushed)
    fleet: Object = yaml.safe_load((OWN / "fleet.yaml").read_text())
    fleet["spec"]["image"] = pushed
    cluster.apply(fleet, namespace)
    cluster.wait_for("cfleet/minigrid", "Completed", namespace, within=TRAINED_SECONDS)


def test_what_is_installed_on_top_leaves_what_is_pinned_alone(images: tuple[str, ...]) -> None:
    with tempfile.TemporaryDirectory(prefix="collectorfleet-own-") as folder:
        dockerfile = Path(folder) / "Dockerfile"
        dockerfile.write_text(
            f"FROM {COLLECTOR}\nRUN pip install 'numpy<2' >/tmp/said 2>&1; grep -q '(constraint) numpy' /tmp/said\n"
        )
        image_build.build(dockerfile, "localhost/wrong-image:1", Path(folder))
