"""Read and control the fleets of a cluster from notebooks, scripts and the command line.

This package talks to the API server only. It imports neither Ray nor torch.
"""

from __future__ import annotations

from collectorfleet.client.changes import Change
from collectorfleet.client.connection import Connection, connect
from collectorfleet.client.errors import (
    AccessDenied,
    ClusterError,
    ClusterUnavailable,
    FleetNotFound,
    FleetRejected,
    FleetStalled,
    InvalidKubeconfig,
)
from collectorfleet.client.fleets import Fleets
from collectorfleet.client.refusals import FolderRefused, TooLarge
from collectorfleet.client.tree import Tree, pack

__all__ = [
    "AccessDenied",
    "Change",
    "ClusterError",
    "ClusterUnavailable",
    "Connection",
    "FleetNotFound",
    "FleetRejected",
    "FleetStalled",
    "Fleets",
    "FolderRefused",
    "InvalidKubeconfig",
    "TooLarge",
    "Tree",
    "connect",
    "pack",
]
