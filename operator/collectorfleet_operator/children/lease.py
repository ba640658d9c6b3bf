"""The driver's Lease. The operator creates the Lease. The driver renews the Lease while the driver works."""

from __future__ import annotations

from typing import Final

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.owner import manifest
from collectorfleet_operator.objects import Kind, Object

LEASE: Final = Kind("coordination.k8s.io/v1", "Lease", "leases")


def lease(fleet: CollectorFleet) -> Object:
    # The manifest has no spec. With a spec, server-side apply would take the ownership of holder and times from the
    # driver.
    return manifest(fleet, LEASE, names.driver_name(fleet.metadata.name))
