"""The errors of requests to the API server, grouped by how a caller can handle them."""

from __future__ import annotations

import json
import re

# The API server quotes a user's text, so the search needs linear time. It starts only at the first character of a path.
_UNDECLARED = re.compile(r"(?<![\w.\[\]=\"\\-])[\w\[\]=\"\\-]*(\.[\w.\[\]=\"\\-]+): field not declared in schema")


class NotConfiguredError(Exception):
    """The kubeconfig or the pod's service account does not name an API server."""


class PortError(Exception):
    """The operator cannot listen on the port of its HTTP endpoints."""


class KubeError(Exception):
    """A failed request. ``message`` is the API server's message."""

    def __init__(self, what: str, message: str) -> None:
        super().__init__(f"{what}: {message}")
        self.message = message


class UnavailableError(KubeError):
    """The API server did not answer, or failed in a way that a retry may solve."""


class NotLeadingError(UnavailableError):
    """The request was not sent, because this operator no longer holds its Lease."""


class NotServedError(KubeError):
    """The API server does not serve the kind: its CRD is not installed."""


class NotFoundError(KubeError):
    """The object does not exist."""


class ConflictError(KubeError):
    """The object has changed or was deleted since it was read, or an object of its name exists already."""


class RefusedError(KubeError):
    """The API server refused the request. A retry fails until a user changes something."""


class UndeclaredFieldError(RefusedError):
    """The installed CRD is from an older release and does not have the field ``path``."""

    def __init__(self, what: str, message: str, path: str) -> None:
        super().__init__(what, message)
        self.path = path


def from_answer(what: str, status: int, body: str) -> KubeError:
    """Return the error for an answer with a status other than 2xx."""
    message, is_status = _message(body)
    undeclared = _UNDECLARED.search(message)
    if undeclared:
        # This check comes before the statuses, because this error has status 500 although a retry never helps.
        return UndeclaredFieldError(what, message, undeclared[1])
    match status:
        case 404 if is_status:
            return NotFoundError(what, message)
        case 404:
            # For a path that is not served, the answer is plain text and not a Status object.
            return NotServedError(what, message)
        case 409:
            return ConflictError(what, message)
        case 401 | 408 | 429:
            return UnavailableError(what, message)
        case _ if status >= 500:
            return UnavailableError(what, message)
        case _:
            return RefusedError(what, message)


def _message(body: str) -> tuple[str, bool]:
    try:
        answer = json.loads(body)
    except ValueError:
        return body.strip() or "an empty answer", False
    if not isinstance(answer, dict) or "message" not in answer:
        return body.strip(), False
    return str(answer["message"]), True
