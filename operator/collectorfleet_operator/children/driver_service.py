"""The driver's Service. Hosts of collectors resolve its DNS name to the address of the current driver pod."""

from __future__ import annotations

from typing import Final

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.owner import labels, manifest
from collectorfleet_operator.children.pod_template import PodRole
from collectorfleet_operator.objects import Kind, Object

SERVICE: Final = Kind("v1", "Service", "services")


def driver_service(fleet: CollectorFleet) -> Object:
    """Return the manifest of the headless Service.

    The Service is headless, because a process group connects pods directly, at ports that the group chooses.
    """
    return manifest(
        fleet,
        SERVICE,
        names.driver_name(fleet.metadata.name),
        spec={
            "clusterIP": "None",
            "selector": {key: value for key, value in labels(fleet, PodRole.DRIVER).items() if key in _SELECTED},
            # The hosts need the driver's address even before its pod is ready.
            "publishNotReadyAddresses": True,
            "ports": [{"name": "hosts", "port": names.HOSTS_PORT}],
        },
    )


_SELECTED: Final = (names.FLEET_LABEL, names.ROLE_LABEL)
