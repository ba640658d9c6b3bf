"""Parser of the API server's fleets. A fleet that cannot be read does not hide other fleets."""

from __future__ import annotations

import warnings

from collectorfleet.client.fleet_requests import Object
from collectorfleet.errors import ClusterError, one_sentence
from collectorfleet_api.v1alpha1 import CollectorFleet


def parsed(stored: Object) -> CollectorFleet:
    """Return the fleet. Raises ClusterError if the fleet cannot be read."""
    try:
        return CollectorFleet.parse_stored(stored)
    except (ValueError, TypeError, AttributeError) as error:
        raise ClusterError(
            f"fleet {_name(stored)} cannot be read: {one_sentence(str(error))}; use a client whose version matches the "
            "CRD of the cluster"
        ) from error


def parsed_if_readable(stored: Object) -> CollectorFleet | None:
    """Return the fleet. If the fleet cannot be read, issue a UserWarning and return None."""
    try:
        return parsed(stored)
    except ClusterError as error:
        warnings.warn(str(error), stacklevel=1)
        return None


def _name(stored: object) -> str:
    """Return the fleet's namespace and name, as far as the object has them."""
    metadata = stored.get("metadata") if isinstance(stored, dict) else None
    found = [metadata.get(key) for key in ("namespace", "name")] if isinstance(metadata, dict) else []
    return "/".join(part for part in found if isinstance(part, str))
