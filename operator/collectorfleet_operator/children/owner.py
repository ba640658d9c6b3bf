"""The owner of all children: the fleet, what they carry of it, and which of its runs they belong to."""

from __future__ import annotations

import hashlib
import json
from typing import Final

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.objects import Kind, Object

FLEET: Final = Kind(names.API_VERSION, names.KIND, names.PLURAL)

# A run is one life of driver and RayCluster together. Both say which spec they were made from: a running driver cannot
# take up a changed spec, so a RayCluster that already follows the new one would not fit it.
RUN_ANNOTATION: Final = f"{names.GROUP}/run"
# The driver's alone: generations also count changes that a run follows.
GENERATION_ANNOTATION: Final = f"{names.GROUP}/generation"

# Followed while a run goes on; everything else needs a new run.
_LIVE_FIELDS: Final = {"collectors": {"replicas", "min_available"}}


def run_of(fleet: CollectorFleet) -> str:
    """Identifies all of the spec that a run cannot take up while it goes on.

    Fields at their default are left out, so that an operator that knows more fields does not see a changed spec.
    """
    spec = fleet.spec.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude=_LIVE_FIELDS)
    return hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:16]


def manifest(fleet: CollectorFleet, kind: Kind, name: str, **body: object) -> Object:
    """A child of the fleet: deleting the fleet is all that is needed to have it collected."""
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
