"""Fixtures of the tests that break nodes: a cluster of two, of which the second one may be lost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.cluster import addons
from tests.cluster import cluster as clusters
from tests.cluster.cluster import Cluster
from tests.e2e.conftest import claim, namespace, own_cluster, pytest_runtest_makereport

__all__ = ["claim", "namespace", "own_cluster", "pytest_runtest_makereport"]


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if reason := clusters.missing():
        pytest.skip(f"left out the tests that break nodes: {reason}")
    own = Cluster(tmp_path_factory.mktemp("cluster"), nodes=2)
    own.start()
    try:
        own.install_kuberay()
        addons.install_operator(own)
        yield own
    finally:
        own.stop()
