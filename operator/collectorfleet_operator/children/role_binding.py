"""Gives the driver's rights to the driver."""

from __future__ import annotations

from typing import Final

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.owner import manifest
from collectorfleet_operator.children.role import ROLE
from collectorfleet_operator.children.service_account import SERVICE_ACCOUNT
from collectorfleet_operator.objects import Kind, Object

ROLE_BINDING: Final = Kind("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings")


def role_binding(fleet: CollectorFleet) -> Object:
    driver = names.driver_name(fleet.metadata.name)
    return manifest(
        fleet,
        ROLE_BINDING,
        driver,
        roleRef={"apiGroup": ROLE.group, "kind": ROLE.kind, "name": driver},
        subjects=[{"kind": SERVICE_ACCOUNT.kind, "name": _account(fleet), "namespace": fleet.metadata.namespace}],
    )


def _account(fleet: CollectorFleet) -> str:
    """Whose pods the drivers are: a template may name an account of the user's, for example to read a bucket."""
    named = (fleet.spec.driver.template.get("spec") or {}).get("serviceAccountName")
    return str(named or names.driver_name(fleet.metadata.name))
