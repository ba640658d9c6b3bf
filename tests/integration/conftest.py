"""Fixtures of the integration tests: a real API server with KubeRay, whose pods the tests play."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster import binaries
from tests.cluster import control_plane as control_planes
from tests.cluster.control_plane import ControlPlane
from tests.cluster.process import Component
from tests.integration.operator_process import operator


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of the API server alone first: once there is an operator, it answers to every fleet."""
    places = [place for place, item in enumerate(items) if item.path.parent == Path(__file__).parent]
    alone_first = sorted((items[place] for place in places), key=_needs_operator)
    for place, item in zip(places, alone_first, strict=True):
        items[place] = item


def _needs_operator(item: pytest.Item) -> bool:
    return "fleet_operator" in getattr(item, "fixturenames", ())


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """One control plane with KubeRay for the whole session; tests keep apart by namespace."""
    if reason := control_planes.missing():
        pytest.skip(f"left out the tests on a real API server: {reason}")
    plane = ControlPlane(tmp_path_factory.mktemp("control-plane"))
    plane.start()
    try:
        yield plane
    finally:
        plane.stop()


@pytest.fixture(scope="session")
def fleet_crd(control_plane: ControlPlane) -> None:
    """CollectorFleets are served."""
    control_plane.apply_crds(binaries.ROOT / "crds")


@pytest.fixture(scope="session")
def fleet_operator(
    control_plane: ControlPlane, fleet_crd: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Component]:
    """The project's operator serves all namespaces."""
    with operator(control_plane, tmp_path_factory.mktemp("operator")) as process:
        yield process


@pytest.fixture
def namespace(control_plane: ControlPlane, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace for one test, named after it."""
    prefix = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower().removeprefix("test_")).strip("-")
    with control_plane.temporary_namespace(prefix) as name:
        yield name
