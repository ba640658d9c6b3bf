"""Manifests of the end-to-end tests: builders fill in what a test does not care about."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from typing import Any

from tests.cluster.client import Client
from tests.wait import eventually

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import Ray

Manifest = dict[str, Any]

IMAGE = "ghcr.io/collectorfleet/collectorfleet:0.1.0"
RAY_VERSION = importlib.metadata.version("ray")
WORKLOAD = Path(__file__).with_name("workload.py")


def code() -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "workload"},
        "data": {"workload.py": WORKLOAD.read_text()},
    }


def fleet(
    name: str = "fleet",
    *,
    environment: str = "workload:make_env",
    train: str = "workload:train",
    image: str = IMAGE,
    replicas: int = 1,
    mode: str = "Sync",
    frames: int = 200,
    kwargs: dict[str, Any] | None = None,
) -> Manifest:
    """A small fleet whose pods fit several times on a machine of 2 cores."""
    # Said where it is another than the resource takes for granted, as tests/versions has it.
    ray = {} if Ray().version == RAY_VERSION else {"ray": {"version": RAY_VERSION}}
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.KIND,
        "metadata": {"name": name},
        "spec": {
            "image": image,
            "code": {"configMap": "workload"},
            "environment": {"factory": environment},
            "policy": {"factory": "workload:make_policy"},
            "driver": {
                "train": {"function": train, "kwargs": kwargs or {}},
                "resources": {"cpu": "100m", "memory": "2Gi"},
            },
            "collection": {"mode": mode, "framesPerBatch": frames},
            "collectors": {"replicas": replicas, "resources": {"cpu": "100m", "memory": "1500Mi"}},
            **ray,
        },
    }


def wait_for_image(cluster: Client, namespace: str, image: str) -> None:
    """Wait until all containers of the fleet's pods have this image.

    The garbage collector deletes the pod of an earlier driver, and nobody waits for it.
    """
    eventually(
        lambda: {
            container["image"]
            for pod in cluster.items("pods", namespace, "collectorfleet.dev/fleet")
            for container in pod["spec"]["containers"]
        },
        until={image}.__eq__,
        within=120,
        what=f"pods of {image} only",
    )
