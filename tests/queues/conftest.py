"""Fixtures of the tests of queues: a cluster with KubeRay, Kueue, and an operator that serves queues."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster import addons, binaries
from tests.cluster import cluster as clusters
from tests.cluster.cluster import Cluster
from tests.delivery.helm import CHARTS, Helm
from tests.e2e.conftest import claim, namespace, own_cluster, pytest_runtest_makereport
from tests.queues import kueue

__all__ = ["claim", "namespace", "own_cluster", "pytest_runtest_makereport"]


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if reason := clusters.missing() or binaries.missing([binaries.HELM]) or kueue.missing():
        pytest.skip(f"left out the tests of queues: {reason}")
    with clusters.with_kuberay(tmp_path_factory.mktemp("cluster")) as own:
        kueue.install(own)
        _install_operator(own, tmp_path_factory.mktemp("helm"))
        yield own


def _install_operator(own: Cluster, home: Path) -> None:
    helm = Helm(binaries.build(binaries.HELM) / "helm", home, own.kubeconfig)
    where = ("--namespace", addons.OPERATOR_NAMESPACE, "--create-namespace")
    chart = CHARTS / "collectorfleet-operator"
    helm("install", "collectorfleet-operator", chart, *where, "--set", "kueue.enabled=true", "--wait")
