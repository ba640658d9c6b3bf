"""The secret that a driver and the hosts of its collectors share, where no KubeRay makes one for them.

The operator may create Secrets and do nothing else with them, so it cannot see the owner of an existing Secret.
Therefore the name belongs to this fleet alone. The Secret of a deleted fleet of the same name is about to be deleted.
"""

from __future__ import annotations

from typing import Final

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.owner import manifest
from collectorfleet_operator.objects import Kind, Object

SECRET: Final = Kind("v1", "Secret", "secrets")
_OF_THE_UID: Final = 8


def token_name(fleet: CollectorFleet) -> str:
    return f"{names.collectors_name(fleet.metadata.name)}-{str(fleet.metadata.uid)[:_OF_THE_UID]}"


def token_secret(fleet: CollectorFleet) -> Object:
    """Without the token, which is made when it is sent."""
    return manifest(fleet, SECRET, token_name(fleet), immutable=True)
