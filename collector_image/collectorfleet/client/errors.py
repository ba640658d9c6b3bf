"""The errors that a client raises. Each error describes a failed request in one sentence that names the cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from kubernetes.client import ApiException
from urllib3.exceptions import HTTPError, MaxRetryError, ProtocolError, ReadTimeoutError

from collectorfleet.client.connection import Connection
from collectorfleet.errors import (
    AccessDenied,
    ClusterError,
    ClusterUnavailable,
    FleetNotFound,
    FleetRejected,
    FleetStalled,
    InvalidKubeconfig,
    one_sentence,
)
from collectorfleet_api import names

__all__ = [
    "AccessDenied",
    "ClusterError",
    "ClusterUnavailable",
    "FleetNotFound",
    "FleetRejected",
    "FleetStalled",
    "InvalidKubeconfig",
    "as_cluster_errors",
]

_NO_RESPONSE: Final = 0  # The Kubernetes client sets this status if TLS failed.
_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403
_NOT_FOUND: Final = 404
_INVALID: Final = 422
_INTERNAL: Final = 500
# A server-side apply with an unknown field or a wrong type gets status 500 and a message that begins with these words.
_NOT_OF_SCHEMA: Final = "failed to create typed patch object"
_TOO_MANY_REQUESTS: Final = 429
_SERVER_ERRORS: Final = range(500, 600)


@contextmanager
def as_cluster_errors(connection: Connection, namespace: str) -> Iterator[None]:
    """Convert errors of the requests inside the block to a ClusterError."""
    try:
        yield
    except ApiException as error:
        raise _of_status(error, connection, namespace) from error
    except HTTPError as error:
        raise ClusterUnavailable(f"no answer from the cluster of {connection.place}: {_cause(error)}") from error
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        # The parser of the answer raises these errors. Leave out their text, because it may repeat a header with the
        # token.
        raise ClusterUnavailable(
            f"the cluster of {connection.place} gave an answer that cannot be read ({type(error).__name__}); "
            "check that the kubeconfig names a Kubernetes API server"
        ) from error


def _of_status(error: ApiException, connection: Connection, namespace: str) -> ClusterError:
    said = _status_object(error)
    message = one_sentence(str(said.get("message") or error.reason))
    match error.status:
        case status if status == _UNAUTHORIZED:
            return AccessDenied(
                f"the cluster of {connection.place} does not accept your credentials (HTTP {status}: {message}); "
                "log in again, or choose another context"
            )
        case status if status == _FORBIDDEN:
            return AccessDenied(f"you lack a right on the cluster of {connection.place} (HTTP {status}): {message}")
        case status if status == _NOT_FOUND:
            return _of_not_found(said, message, connection, namespace)
        case status if status == _INVALID or (status == _INTERNAL and message.startswith(_NOT_OF_SCHEMA)):
            return FleetRejected(f"the API server refused (HTTP {status}): {message}")
        case status if status == _NO_RESPONSE:
            return ClusterUnavailable(f"no usable answer from the cluster of {connection.place}: {message}")
        case status if status == _TOO_MANY_REQUESTS or status in _SERVER_ERRORS or 300 <= status < 400:
            return ClusterUnavailable(f"the cluster of {connection.place} cannot answer (HTTP {status}): {message}")
        case status:
            return ClusterError(f"the API server refused (HTTP {status}): {message}")


def _of_not_found(said: dict[str, Any], message: str, connection: Connection, namespace: str) -> ClusterError:
    """Return the error for status 404.

    The API server's answer names the missing object. If the whole kind is missing, the answer names no object.
    """
    details = said.get("details")
    about = details if isinstance(details, dict) else {}
    if not about.get("name"):
        return ClusterUnavailable(
            f"the cluster of {connection.place} does not have the CRD of CollectorFleets; choose another "
            "context, or install the operator with its CRD there"
        )
    if about.get("kind") == names.PLURAL:
        return FleetNotFound(f"no fleet {about['name']} in namespace {namespace} of {connection.place}")
    return ClusterError(f"the API server refused (HTTP {_NOT_FOUND}): {message}")


def _status_object(error: ApiException) -> dict[str, Any]:
    """Return the Status object that an API server sends, or {} if the answer has another format."""
    body = error.body.decode(errors="replace") if isinstance(error.body, bytes) else error.body
    try:
        found = json.loads(body or "")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _cause(error: HTTPError) -> str:
    cause: BaseException = error.reason if isinstance(error, MaxRetryError) and error.reason else error
    if isinstance(cause, ReadTimeoutError):
        return "the request timed out"
    if isinstance(cause, ProtocolError):
        return f"the connection broke off ({one_sentence(str(cause.args[-1]))})"
    # In urllib3's message, the name of a connection or a pool precedes the cause.
    before, colon, said = str(cause).partition("): ")
    return one_sentence(said if colon else before)
