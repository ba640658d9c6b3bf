"""A cluster's own life: nodes that are cut off, components that crash, and what is left of it in the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster import cluster as clusters
from tests.cluster import machine, snapshot
from tests.cluster.binaries import ROOT
from tests.cluster.client import Object, condition
from tests.cluster.cluster import Cluster
from tests.cluster.errors import KubernetesError
from tests.cluster.thin_images import COLLECTOR_IMAGES
from tests.wait import eventually

USERS_OWN = "KUBECONFIG names the user's own cluster; unset it" if "KUBECONFIG" in os.environ else None
REASON = USERS_OWN or clusters.missing()
pytestmark = pytest.mark.skipif(REASON is not None, reason=f"left out the tests that break nodes: {REASON}")


@pytest.fixture(scope="module")
def two_nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("two-nodes"), nodes=2)
    cluster.start()
    try:
        yield cluster
    finally:
        cluster.stop()


def sleeper(name: str, node: str) -> Object:
    container = {"name": "main", "image": COLLECTOR_IMAGES[0], "command": ["sleep", "3600"]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"nodeName": node, "terminationGracePeriodSeconds": 0, "containers": [container]},
    }


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


def test_nothing_is_left_of_a_cluster(tmp_path: Path) -> None:
    before = snapshot.machine_state()
    cluster = Cluster(tmp_path)
    cluster.start()
    try:
        (entry,) = (entry for entry in machine.entries() if entry.folder == tmp_path)
        cluster.apply(sleeper("pod", "node1"), "default")
        cluster.wait_for("pod/pod", "Ready", "default")
        processes = {process for holder in entry.holders.values() for process in snapshot.members(holder)}
        commands = {Path(f"/proc/{process.pid}/comm").read_text().strip() for process in processes}
        assert commands >= {"etcd", "kubelet", "containerd", "containerd-shim", "sleep"}
    finally:
        cluster.stop()
    assert not [process for process in processes if process.alive]
    assert snapshot.machine_state() == before
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]


def test_a_cluster_whose_owner_was_killed_is_removed_by_the_next(tmp_path: Path) -> None:
    before = snapshot.machine_state()
    script = (
        "import pathlib, sys, time; from tests.cluster.cluster import Cluster;"
        "Cluster(pathlib.Path(sys.argv[1])).start(); print('started', flush=True); time.sleep(600)"
    )
    owner = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    with owner.stdout as said:
        assert said.readline() == "started\n"
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    clusters.sweep()
    assert snapshot.machine_state() == before
