"""Fixtures of the tests of what is delivered: charts, by the Helms that people install them with."""

from __future__ import annotations

import pytest
from tests.cluster import binaries
from tests.delivery.helm import Helm

_TOOLS = {"helm3": (binaries.HELM, "helm"), "helm4": (binaries.HELM4, "helm4")}


@pytest.fixture(scope="session", params=_TOOLS)
def helm(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Helm 3, then Helm 4."""
    tool, name = _TOOLS[request.param]
    if reason := binaries.missing([tool]):
        pytest.skip(f"left out the tests of the charts: {reason}")
    return Helm(binaries.build(tool) / name, tmp_path_factory.mktemp(request.param))
