"""The images as their Dockerfiles build them, in pods that see nothing of this machine."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster import image_build
from tests.cluster.addons import IMAGE_ONLY, OPERATOR, OPERATOR_NAMESPACE
from tests.cluster.binaries import ROOT
from tests.cluster.client import Object
from tests.cluster.cluster import Cluster
from tests.e2e import fleets

OPERATOR_IMAGE = "ghcr.io/collectorfleet/operator:built"
COLLECTOR_IMAGE = "ghcr.io/collectorfleet/collectorfleet:built"


@pytest.fixture
def operator_from_its_image(own_cluster: Cluster, tmp_path: Path) -> Iterator[None]:
    archive = tmp_path / "operator.tar"
    image_build.build(ROOT / "operator/Dockerfile", OPERATOR_IMAGE, archive)
    own_cluster.load_archive(archive)
    (container,) = own_cluster.get(OPERATOR, OPERATOR_NAMESPACE)["spec"]["template"]["spec"]["containers"]
    built = {"containers": [{"name": container["name"], "image": OPERATOR_IMAGE}], "runtimeClassName": IMAGE_ONLY}
    patch = json.dumps({"spec": {"template": {"spec": built}}})
    own_cluster.kubectl("patch", OPERATOR, "-n", OPERATOR_NAMESPACE, f"--patch={patch}")
    try:
        own_cluster.kubectl("rollout", "status", OPERATOR, "-n", OPERATOR_NAMESPACE, "--timeout=60s")
        yield
    finally:
        own_cluster.kubectl("rollout", "undo", OPERATOR, "-n", OPERATOR_NAMESPACE)
        own_cluster.kubectl("rollout", "status", OPERATOR, "-n", OPERATOR_NAMESPACE, "--timeout=60s")


@pytest.mark.usefixtures("operator_from_its_image")
def test_the_operator_from_its_image_makes_a_fleets_cluster_and_driver(own_cluster: Cluster, namespace: str) -> None:
    own_cluster.apply([fleets.code(), fleets.fleet()], namespace)
    for child in ("raycluster/fleet", "job/fleet-driver"):
        own_cluster.wait_for(child, bool, namespace, within=15)
    own_cluster.wait_for("cfleet/fleet", lambda fleet: fleet["status"]["observedGeneration"] == 1, namespace, within=15)


@pytest.mark.images
@pytest.mark.skipif("COLLECTORFLEET_TEST_IMAGES" not in os.environ, reason="left out (gigabytes): make test-images")
@pytest.mark.timeout(1800)
def test_a_fleet_trains_on_the_collector_image(own_cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    archive = tmp_path / "collector.tar"
    image_build.build(ROOT / "collector_image/Dockerfile", COLLECTOR_IMAGE, archive)
    own_cluster.load_archive(archive)
    archive.unlink()
    own_cluster.apply([fleets.code(), _seeing_only_its_image(fleets.fleet(image=COLLECTOR_IMAGE))], namespace)
    own_cluster.wait_for("cfleet/fleet", _three_batches, namespace, within=300)


def _three_batches(fleet: Object) -> bool:
    return int(fleet["status"]["progress"]["batches"]) >= 3


def _seeing_only_its_image(fleet: Object) -> Object:
    template = {"spec": {"runtimeClassName": IMAGE_ONLY}}
    fleet["spec"]["driver"]["template"] = template
    fleet["spec"]["workers"] = {"template": template}
    fleet["spec"]["ray"] = {"head": {"template": template}}
    return fleet
