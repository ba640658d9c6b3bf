"""Fixtures of the tests with Flux."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.cluster.cluster import Cluster
from tests.gitops import manifests
from tests.gitops.conftest import Git
from tests.gitops.flux import processes
from tests.gitops.flux.delivery import SOURCE, Delivery
from tests.gitops.flux.processes import KUSTOMIZATION, RELEASE, Flux, status
from tests.gitops.manifests import OPERATOR


@pytest.fixture(scope="module")
def flux(cluster: Cluster, git: Git, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flux]:
    if reason := processes.missing():
        pytest.skip(f"left out the tests with Flux: {reason}")
    made = Flux(cluster, tmp_path_factory.mktemp("flux"))
    try:
        made.start()
        repository = manifests.example("flux/repository.yaml")
        repository["spec"]["url"] = git.url
        cluster.apply(repository)
        yield made
        # Nobody else keeps an operator of that name then.
        made.delete(f"{RELEASE}/{OPERATOR}", within=120)
    finally:
        made.stop()


@pytest.fixture
def operator(flux: Flux, cluster: Cluster) -> None:
    """The operator's chart is in the cluster by a HelmRelease, whatever the test before did with it."""
    cluster.apply(manifests.example("flux/operator.yaml"))
    flux.wait(f"{RELEASE}/{OPERATOR}", lambda release: status(release) == "True", within=180)


@pytest.fixture
def delivery(operator: None, flux: Flux, git: Git, cluster: Cluster, namespace: str) -> Iterator[Delivery]:
    flux.refresh(SOURCE)
    yield Delivery(flux, git, cluster, namespace)
    for kind in (KUSTOMIZATION, RELEASE):
        flux.delete(f"{kind}/{namespace}", within=120)
