"""Fixtures of the tests of monitoring: the real Prometheus, and what it is to watch."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cluster import binaries
from tests.integration.conftest import control_plane, fleet_crd, namespace

# A real API server, for a real operator.
__all__ = ["control_plane", "fleet_crd", "namespace", "prometheus_binaries"]


@pytest.fixture(scope="session")
def prometheus_binaries() -> Path:
    """The folder of ``prometheus`` and ``promtool``."""
    if reason := binaries.missing([binaries.PROMETHEUS]):
        pytest.skip(f"left out the tests with a real Prometheus: {reason}")
    return binaries.build(binaries.PROMETHEUS)
