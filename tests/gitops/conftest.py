"""Fixtures of the tests of GitOps: a cluster without an operator, a repository, Argo CD and Flux."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.cluster import binaries, packages
from tests.cluster import cluster as clusters
from tests.cluster.binaries import ROOT
from tests.cluster.cluster import Cluster
from tests.e2e.conftest import claim, namespace, own_cluster, pytest_runtest_makereport
from tests.gitops import git_http
from tests.gitops.argocd import processes as argocd
from tests.gitops.repository import Repository
from tests.gitops.seen import Seen
from tests.gitops.states import States

__all__ = ["claim", "namespace", "own_cluster", "pytest_runtest_makereport"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record", action="store_true", help="write the fleets of tests/data anew")
    parser.addoption("--write", metavar="FILE", help="write the table of what was seen into that page")


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with KubeRay; the operator comes from git."""
    if reason := clusters.missing():
        pytest.skip(f"left out the tests of GitOps: {reason}")
    with clusters.with_kuberay(tmp_path_factory.mktemp("cluster")) as own:
        yield own


@dataclass(frozen=True)
class Git:
    """A repository and where it is cloned from."""

    repository: Repository
    url: str


@pytest.fixture(scope="session")
def git(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Git]:
    """A repository that has both charts."""
    packages.install(argocd.PACKAGES)
    repository = Repository(tmp_path_factory.mktemp("git"))
    repository.commit({f"charts/{chart.name}": chart for chart in (ROOT / "charts").iterdir() if chart.is_dir()})
    with git_http.served(repository.served) as url:
        yield Git(repository, f"{url}/fleets.git")


@pytest.fixture(scope="session")
def states(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> States:
    if reason := argocd.missing() or binaries.missing([binaries.KSTATUS]):
        pytest.skip(f"left out the verdicts: {reason}")
    return States(tmp_path_factory.mktemp("states"), request.config.getoption("--record"))


@pytest.fixture(scope="session")
def seen(request: pytest.FixtureRequest) -> Iterator[Seen]:
    """What the tests saw; shown at the end."""
    made = Seen()
    yield made
    print(f"\n{made.table()}")
    if path := request.config.getoption("--write"):
        made.write(Path(path))
