"""The driver's Lease: made here, held and renewed by the driver, so that a dead driver is told from a quiet one."""

from __future__ import annotations

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.common import manifest
from collectorfleet_operator.objects import LEASE, Object


def lease(fleet: CollectorFleet) -> Object:
    # Without a spec: holder and times are the driver's fields, and applying them here would take them from it.
    return manifest(fleet, LEASE, names.driver_name(fleet.metadata.name))
