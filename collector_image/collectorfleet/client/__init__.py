"""Fleets of a cluster, for notebooks, scripts and the command line. Knows the API server alone: no Ray, no torch."""

from __future__ import annotations

from collectorfleet.client.connection import Connection, connect
from collectorfleet.client.errors import ClusterError, FleetNotFound, FleetStalled
from collectorfleet.client.fleets import Fleets

__all__ = ["ClusterError", "Connection", "FleetNotFound", "FleetStalled", "Fleets", "connect"]
