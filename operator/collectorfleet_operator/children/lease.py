"""The driver's Lease: made here, held and renewed by the driver, so that a dead driver is told from a quiet one."""

from __future__ import annotations

from typing import Final

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.owner import manifest
from collectorfleet_operator.objects import Kind, Object

LEASE: Final = Kind("coordination.k8s.io/v1", "Lease", "leases")


def lease(fleet: CollectorFleet) -> Object:
    # Without a spec: holder and times are the driver's fields, and applying them here would take them from it.
    return manifest(fleet, LEASE, names.driver_name(fleet.metadata.name))
