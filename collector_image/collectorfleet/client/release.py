"""The release of CollectorFleet that a cluster has, as its CustomResourceDefinition tells."""

from __future__ import annotations

import json
from typing import Any, Final

from kubernetes.client import ApiException, ApiextensionsV1Api
from urllib3.exceptions import HTTPError

from collectorfleet.client.connection import Connection
from collectorfleet.errors import ClusterError
from collectorfleet_api import names

_REQUEST_SECONDS: Final = 5
# The definition itself has 100 kB.
_METADATA: Final = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


def cluster_release(connection: Connection) -> str | None:
    """Return the version that chart, CRD and operator were released with. Blocks for up to 5 s.

    None if the CRD is older than its label, or if the account may not read the CRD. That right is of the whole cluster.
    """
    # What it returns depends on what it is told, which its types leave out.
    api: Any = ApiextensionsV1Api(connection.api)
    try:
        answer = api.read_custom_resource_definition(
            f"{names.PLURAL}.{names.GROUP}",
            _headers={"Accept": _METADATA},
            _preload_content=False,
            _request_timeout=_REQUEST_SECONDS,
        )
        release: str | None = json.loads(answer.data)["metadata"].get("labels", {}).get(names.VERSION_LABEL)
    except (ApiException, HTTPError, ClusterError, ValueError, LookupError, TypeError, AttributeError):
        return None  # whatever answers instead of the API server
    return release
