"""Fixtures of the tests with Argo CD."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.cluster.cluster import Cluster
from tests.gitops import manifests
from tests.gitops.argocd import processes as argo
from tests.gitops.argocd.delivery import Delivery
from tests.gitops.argocd.processes import ArgoCD, health
from tests.gitops.conftest import Git
from tests.gitops.manifests import OPERATOR


@pytest.fixture(scope="module")
def argocd(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArgoCD]:
    if reason := argo.missing():
        pytest.skip(f"left out the tests with Argo CD: {reason}")
    made = ArgoCD(cluster, tmp_path_factory.mktemp("argocd"))
    try:
        made.start()
        yield made
        # Nobody else keeps an operator of that name then.
        made.delete(OPERATOR, within=120)
    finally:
        made.stop()


@pytest.fixture
def operator(argocd: ArgoCD, cluster: Cluster, git: Git) -> None:
    """The operator's chart is in the cluster by an Application, whatever the test before did with it."""
    application = manifests.example("argocd/operator.yaml")
    application["spec"]["source"]["repoURL"] = git.url
    cluster.apply(application)
    argocd.wait(OPERATOR, lambda status: status["sync"]["status"] == "Synced", within=120)
    argocd.wait(OPERATOR, lambda status: health(status, "Deployment")[0] == "Healthy", within=120)


@pytest.fixture
def delivery(operator: None, argocd: ArgoCD, git: Git, cluster: Cluster, namespace: str) -> Iterator[Delivery]:
    yield Delivery(argocd, git, cluster, namespace)
    argocd.delete(namespace, within=120)
