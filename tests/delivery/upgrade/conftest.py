"""Fixtures of the tests of upgrades: a cluster that has the images of this state of the project and of an older one."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster import binaries
from tests.cluster import cluster as clusters
from tests.cluster.binaries import ROOT
from tests.cluster.cluster import Cluster
from tests.delivery.helm import Helm
from tests.e2e.conftest import claim, namespace, own_cluster, pytest_runtest_makereport

__all__ = ["claim", "namespace", "own_cluster", "pytest_runtest_makereport"]

# Before the first release there is none older: a state of this repository, with another CRD, operator and driver.
OLDER_COMMIT = "7a2bca3"


@pytest.fixture(scope="session")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the project was at that commit."""
    folder = tmp_path_factory.mktemp("older")
    archive = folder / "older.tar"
    command = ["git", "archive", f"--output={archive}", OLDER_COMMIT]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"left out the upgrade: this clone lacks commit {OLDER_COMMIT}; git fetch --unshallow")
    subprocess.run(["tar", "--extract", f"--file={archive}", f"--directory={folder}"], check=True)
    # Pods run as other users.
    folder.chmod(0o755)
    return folder


@pytest.fixture(scope="session")
def cluster(older: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with KubeRay and without an operator."""
    if reason := clusters.missing():
        pytest.skip(f"left out the upgrade: {reason}")
    with clusters.with_kuberay(tmp_path_factory.mktemp("cluster"), other=older) as own:
        yield own


@pytest.fixture
def helm(own_cluster: Cluster, tmp_path: Path) -> Helm:
    if reason := binaries.missing([binaries.HELM4]):
        pytest.skip(f"left out the upgrade: {reason}")
    return Helm(binaries.build(binaries.HELM4) / "helm4", tmp_path, own_cluster.kubeconfig)
