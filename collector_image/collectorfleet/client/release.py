"""The releases of CollectorFleet in a cluster, read from its CustomResourceDefinition and its operators."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kubernetes.client import ApiException, ApiextensionsV1Api, AppsV1Api
from urllib3.exceptions import HTTPError

from collectorfleet.client.connection import Connection
from collectorfleet.errors import ClusterError
from collectorfleet_api import names

_REQUEST_SECONDS: Final = 5
# The metadata is enough. The whole definition has 100 kB.
_METADATA: Final = "application/json;as={};g=meta.k8s.io;v=v1"
# The operator's chart and manifest set this label.
_OPERATORS: Final = "app.kubernetes.io/name=collectorfleet-operator"


@dataclass(frozen=True)
class Releases:
    """The releases in a cluster.

    ``crd`` is the release of the CRD. ``operators`` has each release of an operator once. None or empty: unknown.
    """

    crd: str | None = None
    operators: tuple[str, ...] = ()


def cluster_releases(connection: Connection) -> Releases:
    """Return the releases of the CRD and of the operators. Blocks for up to 10 s.

    The release of an object is unknown if the object has no version label, or if the account may not read objects of
    this kind. Both kinds need a cluster-wide right.
    """
    # The types are Any: the return types depend on the arguments, and the client's annotations do not express this.
    definitions: Any = ApiextensionsV1Api(connection.api)
    deployments: Any = AppsV1Api(connection.api)
    definition = _metadata(
        definitions.read_custom_resource_definition, "PartialObjectMetadata", name=f"{names.PLURAL}.{names.GROUP}"
    )
    operators = _metadata(
        deployments.list_deployment_for_all_namespaces, "PartialObjectMetadataList", label_selector=_OPERATORS
    )
    items = operators.get("items")
    found = {_release(one) for one in items} if isinstance(items, list) else set()
    return Releases(_release(definition), tuple(sorted(filter(None, found))))


def _metadata(send: Callable[..., Any], kind: str, **words: str) -> dict[str, Any]:
    """Send a request for metadata of ``kind`` only. Return the answer, or {} if no API server answered with it."""
    try:
        answer = send(
            **words,
            _headers={"Accept": _METADATA.format(kind)},
            _preload_content=False,
            _request_timeout=_REQUEST_SECONDS,
        )
        found = json.loads(answer.data)
    except (ApiException, HTTPError, ClusterError, ValueError, TypeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _release(found: Any) -> str | None:
    """Return the version label of an object, or None if the object has none."""
    metadata = found.get("metadata") if isinstance(found, dict) else None
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    release = labels.get(names.VERSION_LABEL) if isinstance(labels, dict) else None
    return release if isinstance(release, str) else None
