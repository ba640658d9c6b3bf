"""The Secret with the token that a driver and the hosts of its collectors share, in a fleet without Ray.

The operator may create Secrets but not read them, so it cannot check the owner of an existing Secret. So the Secret's
name contains a part of the fleet's uid. A deleted fleet of the same name then has another Secret.
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
    """Return the manifest of the Secret without its token. The executor adds the token when it creates the Secret."""
    return manifest(fleet, SECRET, token_name(fleet), immutable=True)
