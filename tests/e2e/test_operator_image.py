"""The operator from its image, in a pod that sees nothing of this machine. The collector image: `make test-images`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster import image_build
from tests.cluster.addons import IMAGE_ONLY, OPERATOR, OPERATOR_NAMESPACE
from tests.cluster.binaries import ROOT
from tests.cluster.cluster import Cluster
from tests.e2e import fleets

OPERATOR_IMAGE = "ghcr.io/collectorfleet/operator:built"


@pytest.fixture
def operator_from_its_image(own_cluster: Cluster, tmp_path: Path) -> Iterator[None]:
    archive = tmp_path / "operator.tar"
    image_build.build(ROOT / "operator/Dockerfile", OPERATOR_IMAGE)
    image_build.write_archive(OPERATOR_IMAGE, archive)
    own_cluster.load_archive(archive)
    (container,) = own_cluster.get(OPERATOR, OPERATOR_NAMESPACE)["spec"]["template"]["spec"]["containers"]
    built = {"containers": [{"name": container["name"], "image": OPERATOR_IMAGE}], "runtimeClassName": IMAGE_ONLY}
    patch = json.dumps({"spec": {"template": {"spec": built}}})
    own_cluster.kubectl("patch", OPERATOR, "-n", OPERATOR_NAMESPACE, f"--patch={patch}")
    try:
        own_cluster.kubectl("rollout", "status", OPERATOR, "-n", OPERATOR_NAMESPACE, "--timeout=120s", timeout=130)
        yield
    finally:
        own_cluster.kubectl("rollout", "undo", OPERATOR, "-n", OPERATOR_NAMESPACE)
        own_cluster.kubectl("rollout", "status", OPERATOR, "-n", OPERATOR_NAMESPACE, "--timeout=120s", timeout=130)


@pytest.mark.usefixtures("operator_from_its_image")
def test_the_operator_from_its_image_makes_a_fleets_cluster_and_driver(own_cluster: Cluster, namespace: str) -> None:
    own_cluster.apply([fleets.code(), fleets.fleet()], namespace)
    for child in ("raycluster/fleet", "job/fleet-driver"):
        own_cluster.wait_for(child, bool, namespace, within=60)
    own_cluster.wait_for("cfleet/fleet", lambda fleet: fleet["status"]["observedGeneration"] == 1, namespace, within=60)
