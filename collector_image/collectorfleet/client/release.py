"""The release of CollectorFleet in a cluster, read from its CustomResourceDefinition."""

from __future__ import annotations

import json
from typing import Any, Final

from kubernetes.client import ApiException, ApiextensionsV1Api
from urllib3.exceptions import HTTPError

from collectorfleet.client.connection import Connection
from collectorfleet.errors import ClusterError
from collectorfleet_api import names

_REQUEST_SECONDS: Final = 5
# The metadata is enough. The whole definition has 100 kB.
_METADATA: Final = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


def cluster_release(connection: Connection) -> str | None:
    """Return the release of the chart, the CRD and the operator. Blocks for up to 5 s.

    Returns None if the CRD has no version label, or if the account may not read CRDs. Reading CRDs needs a cluster-wide
    right.
    """
    # The type is Any: the return type depends on the arguments, and the client's annotations do not express this.
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
        return None  # the CRD cannot be read, or no API server answered
    return release
