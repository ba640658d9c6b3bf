"""The service account with which the driver authenticates to the API server."""

from __future__ import annotations

from typing import Final

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.owner import manifest
from collectorfleet_operator.objects import Kind, Object

SERVICE_ACCOUNT: Final = Kind("v1", "ServiceAccount", "serviceaccounts")


def service_account(fleet: CollectorFleet) -> Object:
    return manifest(fleet, SERVICE_ACCOUNT, names.driver_name(fleet.metadata.name))
