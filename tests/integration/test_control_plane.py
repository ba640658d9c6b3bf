"""The control plane itself: what the other integration tests rely on."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.cluster import binaries
from tests.cluster.client import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.errors import KubernetesError
from tests.cluster.process import Command, Component, ComponentError
from tests.wait import eventually


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


KINDS = ("pod", "po", "raycluster", "rayclusters.ray.io", "sa", "clusterrole", "crd", "deployments.apps", "events")


def test_objects_are_read_as_kubectl_prints_them(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.apply(raycluster("small"), namespace)
    control_plane.wait_for("pods", lambda pods: len(pods["items"]) == 3, namespace)

    def printed(*words: str) -> Object:
        said: Object = json.loads(control_plane.kubectl("get", *words, "-n", namespace, "-o", "json"))
        return said

    def agree(kinds: str) -> bool:
        items = control_plane.items(kinds, namespace)
        assert items == printed(kinds)["items"]
        if items and "," not in kinds:
            target = f"{kinds}/{items[0]['metadata']['name']}"
            assert control_plane.get(target, namespace) == printed(target)
        return True

    # Again, because KubeRay may change or delete an object between the two reads.
    for kinds in (*KINDS, "pods,sa"):
        eventually(
            lambda kinds=kinds: agree(kinds),  # type: ignore[misc]
            within=60,
            what=f"{kinds} as kubectl prints them",
            tolerate=(AssertionError, KubernetesError),
        )


def test_what_does_not_exist_is_refused_in_the_words_of_kubectl(control_plane: ControlPlane, namespace: str) -> None:
    for target in ("pod/none", "raycluster/none", "namespace/none", "nothing/none"):
        with pytest.raises(KubernetesError) as printed:
            control_plane.kubectl("get", target, "-n", namespace)
        with pytest.raises(KubernetesError, match=f"^{re.escape(str(printed.value))}$"):
            control_plane.get(target, namespace)


def test_a_kind_is_read_once_it_is_served_and_no_more_once_it_is_not(
    control_plane: ControlPlane, namespace: str
) -> None:
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "lamps.tests.collectorfleet.dev"},
        "spec": {
            "group": "tests.collectorfleet.dev",
            "names": {"kind": "Lamp", "plural": "lamps", "singular": "lamp", "shortNames": ["lmp"]},
            "scope": "Namespaced",
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
            ],
        },
    }
    for _ in range(2):
        with pytest.raises(KubernetesError, match="the server doesn't have a resource type"):
            control_plane.items("lmp", namespace)
        control_plane.apply_crds(json.dumps(crd))
        assert eventually(lambda: control_plane.items("lmp", namespace) == [], within=30, tolerate=(KubernetesError,))
        control_plane.delete("crd/lamps.tests.collectorfleet.dev")

        def refused() -> bool:
            with pytest.raises(KubernetesError, match="the server doesn't have a resource type"):
                control_plane.items("lmp", namespace)
            return True

        eventually(refused, within=30, tolerate=(BaseException,))


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
