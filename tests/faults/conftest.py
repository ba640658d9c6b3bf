"""Fixtures of the tests that break nodes: a cluster of two, of which the second one may be lost."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.common import tables
from tests.cluster import addons
from tests.cluster import cluster as clusters
from tests.cluster.cluster import Cluster
from tests.e2e.conftest import bound_claim, claim, namespace, own_cluster, pytest_runtest_makereport
from tests.faults.table import Costs, Table

__all__ = ["claim", "namespace", "own_cluster", "pytest_runtest_makereport"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write", metavar="FILE", help="write what lost nodes cost there too")
    parser.addoption("--write-cluster", metavar="FILE", help="write what other faults of the cluster cost there too")


@pytest.fixture(scope="session")
def table(request: pytest.FixtureRequest) -> Iterator[Table]:
    """What the tests measured; shown at the end."""
    made = Table()
    yield made
    print(f"\n{made.page()}")
    if path := request.config.getoption("--write"):
        tables.write(path, made.page())


@pytest.fixture(scope="session")
def costs(request: pytest.FixtureRequest) -> Iterator[Costs]:
    """What the other faults cost; shown at the end."""
    made = Costs()
    yield made
    print(f"\n{made.page()}")
    if path := request.config.getoption("--write-cluster"):
        tables.write(path, made.page())


@pytest.fixture
def small_claim(own_cluster: Cluster, namespace: str, small_volume: Path) -> Iterator[str]:
    """A claim that is bound to the small volume."""
    with bound_claim(own_cluster, namespace, small_volume) as name:
        yield name


_KUBERAY = ("deployment/kuberay-operator", addons.KUBERAY_NAMESPACE)


def _keep_on(cluster: Cluster, node: str, deployment: str, where: str) -> None:
    """Both operators outlive the node that is lost: what they do is the question, and not how they come back."""
    pinned = {"spec": {"template": {"spec": {"nodeSelector": {"kubernetes.io/hostname": node}}}}}
    cluster.kubectl("patch", deployment, "-n", where, "--type=merge", "-p", json.dumps(pinned))
    cluster.kubectl("rollout", "status", deployment, "-n", where, "--timeout=90s", timeout=100)


VOLUME_BYTES = 8 << 20


@pytest.fixture(scope="session")
def small_volume(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file system of 8 MiB; nodes see it because it is there before them."""
    if reason := clusters.missing():
        pytest.skip(f"left out the tests that break nodes: {reason}")
    folder = tmp_path_factory.mktemp("small")
    options = f"size={VOLUME_BYTES},mode=777"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory, small_volume: Path) -> Iterator[Cluster]:
    if reason := clusters.missing():
        pytest.skip(f"left out the tests that break nodes: {reason}")
    own = Cluster(tmp_path_factory.mktemp("cluster"), nodes=2)
    own.start()
    try:
        own.install_kuberay()
        addons.install_operator(own)
        for target, namespace_ in ((addons.OPERATOR, addons.OPERATOR_NAMESPACE), _KUBERAY):
            _keep_on(own, "node1", target, namespace_)
        yield own
    finally:
        own.stop()
