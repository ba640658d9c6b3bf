"""The driver's address for the hosts of its collectors: a name that follows it from pod to pod."""

from __future__ import annotations

from typing import Final

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.owner import labels, manifest
from collectorfleet_operator.children.pod_template import PodRole
from collectorfleet_operator.objects import Kind, Object

SERVICE: Final = Kind("v1", "Service", "services")


def driver_service(fleet: CollectorFleet) -> Object:
    """Headless: a process group connects pods to pods, at ports that it chooses."""
    return manifest(
        fleet,
        SERVICE,
        names.driver_name(fleet.metadata.name),
        spec={
            "clusterIP": "None",
            "selector": {key: value for key, value in labels(fleet, PodRole.DRIVER).items() if key in _SELECTED},
            # Hosts are to find a driver that still waits for them.
            "publishNotReadyAddresses": True,
            "ports": [{"name": "hosts", "port": names.HOSTS_PORT}],
        },
    )


_SELECTED: Final = (names.FLEET_LABEL, names.ROLE_LABEL)
