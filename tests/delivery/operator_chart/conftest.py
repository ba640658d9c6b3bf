"""Releases of the operator's chart on a real API server. Its pods never run there: a test runs the operator itself."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from tests.cluster import control_plane as control_planes
from tests.cluster.control_plane import ControlPlane
from tests.delivery.helm import Helm
from tests.delivery.operator_chart.releases import CRD

Namespaces = Callable[[str], str]


@pytest.fixture(scope="session")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane of these tests' own: they take away the CRD, which all others rely on."""
    if reason := control_planes.missing():
        pytest.skip(f"left out the tests of releases: {reason}")
    plane = ControlPlane(tmp_path_factory.mktemp("control-plane"))
    plane.start()
    try:
        yield plane
    finally:
        plane.stop()


@pytest.fixture
def namespaces(plane: ControlPlane) -> Iterator[Namespaces]:
    """Makes a namespace for the test, with the words that it is given in its name."""
    with contextlib.ExitStack() as stack:
        yield lambda prefix: stack.enter_context(plane.temporary_namespace(prefix))


@pytest.fixture
def cluster_helm(helm: Helm, plane: ControlPlane, namespaces: Namespaces) -> Iterator[Helm]:
    """Helm 3, then Helm 4, on a cluster that knows no fleets; every release is gone at the end, and so is the CRD.

    It ends before the namespaces do, in which Helm keeps what it knows of releases.
    """
    here = replace(helm, kubeconfig=plane.kubeconfig)
    try:
        yield here
    finally:
        for release in json.loads(here("list", "--all-namespaces", "--output", "json")):
            here("uninstall", release["name"], "--namespace", release["namespace"])
        plane.delete(CRD)
