"""The driver's Lease. The operator creates it, and the driver renews it to show that it works."""

from __future__ import annotations

from typing import Final

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.owner import manifest
from collectorfleet_operator.objects import Kind, Object

LEASE: Final = Kind("coordination.k8s.io/v1", "Lease", "leases")


def lease(fleet: CollectorFleet) -> Object:
    # Without a spec, because server-side apply would take over the driver's fields, holder and times.
    return manifest(fleet, LEASE, names.driver_name(fleet.metadata.name))
