"""The operator as a process of this machine, with the rights of one ServiceAccount and no others."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml
from tests.cluster.binaries import ROOT
from tests.cluster.client import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.process import Command, Component
from tests.ports import reserve_ports

NAMESPACE = "collectorfleet-system"
MANIFEST = ROOT / "operator/manifests/operator.yaml"


def kubeconfig(plane: ControlPlane, folder: Path) -> Path:
    """A kubeconfig of the operator's ServiceAccount, with its manifests' RBAC applied."""
    objects = [obj for obj in yaml.safe_load_all(MANIFEST.read_text()) if obj["kind"] != "Deployment"]
    plane.apply(objects)
    return kubeconfig_of(plane, folder, NAMESPACE, "collectorfleet-operator")


def kubeconfig_of(plane: ControlPlane, folder: Path, namespace: str, name: str) -> Path:
    """A kubeconfig of a ServiceAccount, in that folder."""
    token = plane.kubectl("create", "token", name, "-n", namespace, "--duration=10h").strip()
    config: Object = json.loads(plane.kubectl("config", "view", "--raw", "--minify", "-o", "json"))
    config["users"][0]["user"] = {"token": token}
    path = folder / "operator.kubeconfig"
    path.touch(mode=0o600)
    path.write_text(json.dumps(config))
    return path


@contextlib.contextmanager
def operator(
    plane: ControlPlane, folder: Path, *arguments: str, account: Path | None = None, wait: bool = True
) -> Iterator[Component]:
    """Run the operator; yields it, once it serves, as a component that can be killed and launched again.

    It runs with the kubeconfig ``account``, or with the rights of its own manifests.
    """
    (port,) = reserve_ports(1)
    process = Component(
        Command(
            "operator",
            (sys.executable, "-m", "collectorfleet_operator", f"--health-port={port}", *arguments),
            ready_url=f"http://127.0.0.1:{port}/readyz",
            env={"KUBECONFIG": str(account or kubeconfig(plane, folder)), "PYTHONPATH": f"{ROOT}/crds:{ROOT}/operator"},
        ),
        folder / "operator.log",
    )
    process.launch()
    try:
        if wait:
            process.wait_ready(30)
        yield process
    finally:
        process.stop()
