"""Releases of the operator's chart: what they are asked for, and the operator as such a release would run it."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml
from tests.cluster.client import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.process import Component
from tests.delivery.helm import Helm
from tests.delivery.operator_chart.rendering import CHART
from tests.integration import operator_process

CRD = "customresourcedefinition/collectorfleets.collectorfleet.dev"
# Of a release, its Deployment and its ServiceAccount: a name that has the chart's in it is used as it is.
NAME = "collectorfleet-operator"
DEPLOYMENT = f"deployment/{NAME}"


def install(helm: Helm, namespace: str, *words: str | Path, name: str = NAME, chart: Path = CHART) -> str:
    """``helm install`` into a namespace; returns its notes."""
    return helm("install", name, chart, "--namespace", namespace, *words)


def serving(namespaces: Sequence[str], *, crd: bool = True) -> tuple[str, ...]:
    """Words for a release that serves these namespaces only, and leaves the CRD to others unless it is told to."""
    return "--set", f"watchNamespaces={{{','.join(namespaces)}}},crds.enabled={str(crd).lower()}"


@contextlib.contextmanager
def running(plane: ControlPlane, folder: Path, namespace: str, *, wait: bool = True) -> Iterator[Component]:
    """The operator of the release in a namespace: as its ServiceAccount, with the arguments of its Deployment."""
    folder.mkdir()
    deployment = plane.get(DEPLOYMENT, namespace)
    account = deployment["spec"]["template"]["spec"]["serviceAccountName"]
    config = operator_process.kubeconfig_of(plane, folder, namespace, account)
    with operator_process.operator(plane, folder, *arguments(deployment), "--verbose", account=config, wait=wait) as it:
        yield it


def older_chart(folder: Path) -> Path:
    """The chart in that folder, with a CRD that lacks the last of its columns."""
    shutil.copytree(CHART, folder)
    file = folder / "files/collectorfleets.yaml"
    crd = yaml.safe_load(file.read_text())
    del crd["spec"]["versions"][0]["additionalPrinterColumns"][-1]
    file.write_text(yaml.safe_dump(crd))
    return folder


def arguments(deployment: Object) -> list[str]:
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return list(container.get("args", []))


def served(plane: ControlPlane) -> None:
    """Block until CollectorFleets are served."""
    plane.wait_for(CRD, "Established")
