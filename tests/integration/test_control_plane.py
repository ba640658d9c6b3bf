"""The control plane itself: what the other integration tests rely on."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cluster import binaries
from tests.cluster.client import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.process import Command, Component, ComponentError


def raycluster(name: str) -> Object:
    container = {"name": "ray", "image": "test.local/ray:1"}
    template = {"spec": {"containers": [container]}}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": name},
        "spec": {
            "rayVersion": "2.60.0",
            "headGroupSpec": {"rayStartParams": {"num-cpus": "0"}, "template": template},
            "workerGroupSpecs": [
                {
                    "groupName": "collectors",
                    "replicas": 2,
                    "minReplicas": 0,
                    "maxReplicas": 10,
                    "rayStartParams": {},
                    "template": template,
                }
            ],
        },
    }


def test_a_raycluster_gets_its_pods_and_takes_them_along(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.apply(raycluster("small"), namespace)
    control_plane.wait_for("pods", lambda pods: len(pods["items"]) == 3, namespace)
    control_plane.delete("raycluster/small", namespace)
    control_plane.wait_for("pods", lambda pods: not pods["items"], namespace)


def test_an_api_server_that_crashed_comes_back_with_its_objects(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.kubectl("create", "configmap", "kept", "-n", namespace)
    control_plane.kill("kube-apiserver")
    control_plane.start("kube-apiserver")
    assert control_plane.find("configmap/kept", namespace) is not None


def test_a_component_that_fails_shows_the_end_of_its_log(tmp_path: Path) -> None:
    command = (binaries.build(binaries.ETCD) / "etcd", "--config-file=/nowhere/etcd.yaml")
    etcd = Component(Command("etcd", command, ready_url="http://127.0.0.1:1/health"), tmp_path / "etcd.log")
    etcd.launch()
    with pytest.raises(ComponentError, match=r"(?s)etcd: ended with exit code 1 .*nowhere/etcd.yaml"):
        etcd.wait_ready(20)
