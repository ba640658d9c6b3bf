"""A cluster of two nodes: they are cut off, components crash, and pods run on. The other tests of faults rely on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.cluster import cluster as clusters
from tests.cluster.client import Object, condition
from tests.cluster.cluster import Cluster
from tests.cluster.errors import KubernetesError
from tests.e2e.test_cluster_life import sleeper
from tests.wait import eventually


@pytest.fixture(scope="module")
def two_nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if reason := clusters.missing():
        pytest.skip(f"left out the tests that break nodes: {reason}")
    cluster = Cluster(tmp_path_factory.mktemp("two-nodes"), nodes=2)
    cluster.start()
    try:
        yield cluster
    finally:
        cluster.stop()


def ready(node: Object) -> bool:
    found = condition(node, "Ready")
    return found is not None and found["status"] == "True"


def test_a_node_that_is_cut_off_is_not_ready_until_it_is_healed(two_nodes: Cluster) -> None:
    two_nodes.cut("node2")
    two_nodes.wait_for("node/node2", lambda node: not ready(node), within=180)
    two_nodes.heal("node2")
    two_nodes.wait_for("node/node2", "Ready", within=240)


def test_pods_reach_pods_of_the_other_node(two_nodes: Cluster) -> None:
    two_nodes.apply([sleeper("here", "node1"), sleeper("there", "node2")], "default")
    there = two_nodes.wait_for("pod/there", "Ready", "default")["status"]["podIP"]
    two_nodes.wait_for("pod/here", "Ready", "default")
    two_nodes.kubectl("exec", "there", "--", "bash", "-c", "python -m http.server 8000 >/dev/null 2>&1 &")
    ask = (
        "exec",
        "here",
        "--",
        "wget",
        "-qO-",
        "--tries=20",
        "--retry-connrefused",
        f"http://{there}:8000/etc/hostname",
    )
    assert two_nodes.kubectl(*ask) == "there\n"


@pytest.mark.parametrize("component", ["node2/kubelet", "node2/containerd", "kube-scheduler", "etcd"])
def test_a_component_that_crashed_is_started_again_and_pods_run_on(two_nodes: Cluster, component: str) -> None:
    two_nodes.apply(sleeper("kept", "node2"), "default")
    before = two_nodes.wait_for("pod/kept", "Ready", "default")
    two_nodes.kill(component)
    two_nodes.start(component)
    two_nodes.wait_for("node/node2", "Ready")
    # A kubelet that has just started does not know its pods yet.
    eventually(
        lambda: two_nodes.kubectl("exec", "kept", "-n", "default", "--", "echo", "here"),
        within=60,
        tolerate=(KubernetesError,),
    )
    after = two_nodes.wait_for("pod/kept", "Ready", "default")
    assert after["status"]["containerStatuses"] == before["status"]["containerStatuses"]


def test_a_killed_container_is_restarted_in_its_pod(two_nodes: Cluster) -> None:
    two_nodes.apply(sleeper("victim", "node2"), "default")
    two_nodes.wait_for("pod/victim", "Ready", "default")
    two_nodes.kill_pod("victim", "default")
    two_nodes.wait_for("pod/victim", lambda pod: pod["status"]["containerStatuses"][0]["restartCount"] == 1, "default")
