"""The driver's rights: read its own fleet, and write the fleet's status, the driver's Lease and the timeline."""

from __future__ import annotations

from typing import Final

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.lease import LEASE
from collectorfleet_operator.children.owner import FLEET, manifest
from collectorfleet_operator.children.timeline import CONFIG_MAP
from collectorfleet_operator.objects import Kind, Object

ROLE: Final = Kind("rbac.authorization.k8s.io/v1", "Role", "roles")


def role(fleet: CollectorFleet) -> Object:
    name = fleet.metadata.name
    driver = names.driver_name(name)
    return manifest(
        fleet,
        ROLE,
        driver,
        rules=[
            _rule(FLEET.group, FLEET.plural, name, "get"),
            _rule(FLEET.group, f"{FLEET.plural}/status", name, "patch"),
            _rule(LEASE.group, LEASE.plural, driver, "get", "patch"),
            _rule(CONFIG_MAP.group, CONFIG_MAP.plural, names.timeline_name(name), "get", "patch"),
        ],
    )


def _rule(group: str, resource: str, name: str, *verbs: str) -> Object:
    return {"apiGroups": [group], "resources": [resource], "resourceNames": [name], "verbs": list(verbs)}
