"""Fixtures of the tests of what a release pushes: both images, both charts, a registry, and a cluster that pulls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from tests.cluster import binaries, image_build
from tests.cluster import cluster as clusters
from tests.cluster.addons import OPERATOR_NAMESPACE
from tests.cluster.binaries import ROOT
from tests.cluster.client import Object
from tests.cluster.cluster import Cluster
from tests.cluster.thin_images import COLLECTOR_IMAGES, OPERATOR_IMAGES, VERSION
from tests.delivery.helm import CHARTS, Helm
from tests.e2e.conftest import namespace, pytest_runtest_makereport
from tests.images import registry

__all__ = ["namespace", "pytest_runtest_makereport"]

GIGABYTES = 40
COLLECTOR, OPERATOR = COLLECTOR_IMAGES[0], OPERATOR_IMAGES[0]
DOCKERFILES = {OPERATOR: "operator/Dockerfile", COLLECTOR: "collector_image/Dockerfile"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write", metavar="FILE", help="write the table of sizes into that page")


@pytest.fixture(scope="session")
def images() -> tuple[str, ...]:
    """Both images, built under the names of their release."""
    if reason := image_build.missing(GIGABYTES):
        pytest.skip(f"left out the tests of the images: {reason}")
    for name, dockerfile in DOCKERFILES.items():
        image_build.build(ROOT / dockerfile, name)
    return tuple(DOCKERFILES)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with KubeRay whose pods see nothing of this machine."""
    if reason := clusters.missing() or binaries.missing([binaries.CRANE, binaries.HELM, binaries.HELM4]):
        pytest.skip(f"left out the tests of the images on a cluster: {reason}")
    with clusters.with_kuberay(tmp_path_factory.mktemp("cluster"), thin=False) as own:
        yield own


@dataclass(frozen=True)
class Release:
    """What was pushed: the registry, and the digest of each image by its name."""

    registry: str
    digests: dict[str, str]

    def image(self, name: str) -> str:
        """An image by its digest there."""
        return f"{self.repository(name)}@{self.digests[name]}"

    def repository(self, name: str) -> str:
        _, _, path = name.removesuffix(f":{VERSION}").partition("/")
        return f"{self.registry}/{path}"

    def chart(self, name: str) -> tuple[str, ...]:
        """The words by which Helm finds a chart there."""
        return (f"oci://{self.registry}/charts/{name}", "--version", VERSION, "--plain-http")


@pytest.fixture(scope="session")
def helm3(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    return Helm(binaries.build(binaries.HELM) / "helm", tmp_path_factory.mktemp("helm3"), cluster.kubeconfig)


@pytest.fixture(scope="session")
def helm4(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    return Helm(binaries.build(binaries.HELM4) / "helm4", tmp_path_factory.mktemp("helm4"), cluster.kubeconfig)


@pytest.fixture(scope="session")
def release(
    images: tuple[str, ...], cluster: Cluster, helm3: Helm, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Release]:
    """All that a release pushes, in a registry that the cluster's nodes may pull from."""
    with registry.served(cluster.machine, tmp_path_factory.mktemp("registry") / "log") as host:
        cluster.let_pull_from(host)
        made = Release(host, {})
        for name in images:
            made.digests[name] = image_build.push(name, f"{made.repository(name)}:{VERSION}")
        packed = tmp_path_factory.mktemp("charts")
        for chart in sorted(folder for folder in CHARTS.iterdir() if folder.is_dir()):
            helm3("package", chart, "--destination", packed)
            helm3("push", packed / f"{chart.name}-{VERSION}.tgz", f"oci://{host}/charts", "--plain-http")
        yield made


@pytest.fixture(scope="session")
def operator(cluster: Cluster, helm3: Helm, release: Release) -> Object:
    """The operator as the registry has it; its Deployment, which is available."""
    host, _, repository = release.repository(OPERATOR).partition("/")
    image = {"registry": host, "repository": repository, "digest": release.digests[OPERATOR]}
    settings = [word for key, value in image.items() for word in ("--set", f"image.{key}={value}")]
    words = ("install", "collectorfleet-operator", *release.chart("collectorfleet-operator"), *settings)
    helm3(*words, "--namespace", OPERATOR_NAMESPACE, "--create-namespace", "--wait", "--timeout=3m", timeout=240)
    return cluster.get("deployment/collectorfleet-operator", OPERATOR_NAMESPACE)
