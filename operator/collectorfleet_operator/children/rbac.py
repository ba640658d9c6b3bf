"""What the driver may do with the API server: read its own fleet, report its status, renew its Lease. Nothing else."""

from __future__ import annotations

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.common import manifest
from collectorfleet_operator.objects import FLEET, LEASE, ROLE, ROLE_BINDING, SERVICE_ACCOUNT, Object


def service_account(fleet: CollectorFleet) -> Object:
    return manifest(fleet, SERVICE_ACCOUNT, names.driver_name(fleet.metadata.name))


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
        ],
    )


def role_binding(fleet: CollectorFleet) -> Object:
    driver = names.driver_name(fleet.metadata.name)
    return manifest(
        fleet,
        ROLE_BINDING,
        driver,
        roleRef={"apiGroup": ROLE.group, "kind": ROLE.kind, "name": driver},
        subjects=[{"kind": SERVICE_ACCOUNT.kind, "name": driver, "namespace": fleet.metadata.namespace}],
    )


def _rule(group: str, resource: str, name: str, *verbs: str) -> Object:
    return {"apiGroups": [group], "resources": [resource], "resourceNames": [name], "verbs": list(verbs)}
