"""Fixtures of the end-to-end tests: a real cluster with KubeRay and the operator, made here or the user's own.

With KUBECONFIG the tests use that cluster, in namespaces of their own; CRDs, KubeRay and the operator must be installed
in it. Otherwise one is built on this machine, which needs Linux and root.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from tests.cluster import addons, binaries, diagnostics
from tests.cluster import cluster as clusters
from tests.cluster.client import Client
from tests.cluster.cluster import Cluster

FAILED = pytest.StashKey[bool]()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A cluster with KubeRay and the operator for the whole session; tests keep apart by namespace."""
    if kubeconfig := os.environ.get("KUBECONFIG"):
        client = Client(binaries.kubectl(), Path(kubeconfig))
        client.kubectl("get", "crd", "collectorfleets.collectorfleet.dev", "rayclusters.ray.io")
        yield client
        return
    if reason := clusters.missing():
        pytest.skip(f"left out the tests on a real cluster: {reason}")
    own = Cluster(tmp_path_factory.mktemp("cluster"))
    own.start()
    try:
        own.install_kuberay()
        addons.install_operator(own)
        yield own
    finally:
        own.stop()


@pytest.fixture
def own_cluster(cluster: Client) -> Cluster:
    """The cluster, if it is one that tests may break: kill components, add devices, load images."""
    if not isinstance(cluster, Cluster):
        pytest.skip("left out: this test breaks parts of the cluster, and KUBECONFIG names the user's own; unset it")
    return cluster


@pytest.fixture
def namespace(cluster: Client, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace for one test, named after it; if the test fails, its pods, events and logs are printed."""
    prefix = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower().removeprefix("test_")).strip("-")
    with cluster.temporary_namespace(prefix) as name:
        yield name
        if request.node.stash.get(FAILED, False):
            print(diagnostics.describe(cluster, name))


@pytest.fixture
def claim(own_cluster: Cluster, namespace: str, tmp_path: Path) -> Iterator[str]:
    """A claim that is bound to a folder of this machine."""
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    folder.chmod(0o777)  # the kubelet leaves the owner of such a folder alone
    with bound_claim(own_cluster, namespace, folder) as name:
        yield name


@contextlib.contextmanager
def bound_claim(cluster: Cluster, namespace: str, folder: Path) -> Iterator[str]:
    """The name of a claim in the namespace that is bound to a folder of this machine."""
    common = {"accessModes": ["ReadWriteOnce"], "storageClassName": ""}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": namespace},
        "spec": {**common, "capacity": {"storage": "1Gi"}, "hostPath": {"path": str(folder)}},
    }
    wanted = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "checkpoints"},
        "spec": {**common, "volumeName": namespace, "resources": {"requests": {"storage": "1Gi"}}},
    }
    cluster.apply(volume)
    cluster.apply(wanted, namespace)
    yield "checkpoints"
    cluster.delete(f"persistentvolume/{namespace}", wait=False)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None]:
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if report.when == "call":
        item.stash[FAILED] = report.failed
