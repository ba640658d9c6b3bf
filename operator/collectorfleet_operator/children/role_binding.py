"""The RoleBinding that gives the driver's Role to the driver's service account."""

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
    """Return the service account of the driver's pod.

    The user's template may name another account, for example an account that may read a bucket.
    """
    named = (fleet.spec.driver.template.get("spec") or {}).get("serviceAccountName")
    return str(named or names.driver_name(fleet.metadata.name))
