"""A cluster's own life: what is left of it in the end. tests/faults has what happens to its nodes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cluster import cluster as clusters
from tests.cluster import machine, snapshot
from tests.cluster.binaries import ROOT
from tests.cluster.client import Object
from tests.cluster.cluster import Cluster
from tests.cluster.thin_images import COLLECTOR_IMAGES

USERS_OWN = "KUBECONFIG names the user's own cluster; unset it" if "KUBECONFIG" in os.environ else None
REASON = USERS_OWN or clusters.missing()
pytestmark = pytest.mark.skipif(REASON is not None, reason=f"left out the tests that break nodes: {REASON}")


def sleeper(name: str, node: str) -> Object:
    container = {"name": "main", "image": COLLECTOR_IMAGES[0], "command": ["sleep", "3600"]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"nodeName": node, "terminationGracePeriodSeconds": 0, "containers": [container]},
    }


def test_nothing_is_left_of_a_cluster(tmp_path: Path) -> None:
    before = snapshot.machine_state()
    cluster = Cluster(tmp_path)
    cluster.start()
    try:
        (entry,) = (entry for entry in machine.entries() if entry.folder == tmp_path)
        cluster.apply(sleeper("pod", "node1"), "default")
        cluster.wait_for("pod/pod", "Ready", "default")
        processes = {process for holder in entry.holders.values() for process in snapshot.members(holder)}
        commands = set()
        for process in processes:
            with contextlib.suppress(OSError):  # such as an iptables of kube-proxy, which has ended
                commands.add(Path(f"/proc/{process.pid}/comm").read_text().strip())
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
