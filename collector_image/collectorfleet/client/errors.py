"""What can go wrong between a client and a cluster, each as one sentence."""

from __future__ import annotations

import json

from kubernetes.client import ApiException

from collectorfleet.errors import CollectorFleetError


class ClusterError(CollectorFleetError):
    """The API server refused, or did not answer."""


class FleetNotFound(ClusterError):
    """There is no fleet of that name in the namespace."""


class FleetStalled(ClusterError):
    """The fleet waits for its user, or has failed; the message is that of its condition."""


def refused(error: ApiException) -> ClusterError:
    """What the API server said, in its own words."""
    try:
        message = json.loads(error.body or "")["message"]
    except (ValueError, KeyError, TypeError):
        message = error.reason
    return ClusterError(f"the API server refused (HTTP {error.status}): {message}")
