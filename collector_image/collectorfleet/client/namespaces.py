"""The namespaces of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kubernetes import client

from collectorfleet.client.connection import Connection
from collectorfleet.client.errors import as_cluster_errors


def namespaces(connection: Connection, *, request_seconds: float) -> Sequence[str]:
    """Return the names of all namespaces.

    Raises a ClusterError, such as AccessDenied if the account may not list them.
    """
    api: Any = client.CoreV1Api(connection.api)
    with as_cluster_errors(connection, connection.namespace):
        return [one.metadata.name for one in api.list_namespace(_request_timeout=request_seconds).items]
