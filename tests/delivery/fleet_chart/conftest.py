"""Fixtures of the tests of the fleet's chart: both Helms with a real API server that serves CollectorFleets."""

from __future__ import annotations

import dataclasses

import pytest
from tests.cluster.control_plane import ControlPlane
from tests.delivery.helm import Helm
from tests.integration.conftest import control_plane, fleet_crd, namespace

__all__ = ["control_plane", "fleet_crd", "namespace"]


@pytest.fixture
def released(helm: Helm, control_plane: ControlPlane, fleet_crd: None) -> Helm:
    """Helm 3, then Helm 4, with a cluster to release into."""
    return dataclasses.replace(helm, kubeconfig=control_plane.kubeconfig)
