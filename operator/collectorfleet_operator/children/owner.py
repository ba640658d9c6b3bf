"""The owner reference and the labels with which all children refer to their fleet."""

from __future__ import annotations

from typing import Final

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.objects import Kind, Object

FLEET: Final = Kind(names.API_VERSION, names.KIND, names.PLURAL)


def manifest(fleet: CollectorFleet, kind: Kind, name: str, **body: object) -> Object:
    """Return the manifest of a child. Kubernetes deletes the child after its fleet is deleted."""
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {
            "name": name,
            "namespace": fleet.metadata.namespace,
            "labels": labels(fleet),
            "ownerReferences": [
                {
                    "apiVersion": FLEET.api_version,
                    "kind": FLEET.kind,
                    "name": fleet.metadata.name,
                    "uid": fleet.metadata.uid,
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        **body,
    }


def labels(fleet: CollectorFleet, role: str | None = None) -> dict[str, str]:
    found = {names.FLEET_LABEL: fleet.metadata.name, "app.kubernetes.io/managed-by": names.OPERATOR_MANAGER}
    if role:
        found[names.ROLE_LABEL] = role
    return found
