"""Everything that can go wrong with the API server, by what can be done about it."""

from __future__ import annotations

import json
import re

_UNDECLARED = re.compile(r"(\.[\w.\[\]=\"\\-]+): field not declared in schema")


class KubeError(Exception):
    """A request failed; the message is the API server's."""

    def __init__(self, what: str, message: str) -> None:
        super().__init__(f"{what}: {message}")
        self.message = message


class UnavailableError(KubeError):
    """No answer, or one that says to come back later."""


class NotLeadingError(UnavailableError):
    """Not asked at all: this operator lost the right to write."""


class NotServedError(KubeError):
    """The API server does not know the kind: its CRD is not installed."""


class NotFoundError(KubeError):
    """No such object."""


class ConflictError(KubeError):
    """What was written about has changed or gone since it was seen."""


class RefusedError(KubeError):
    """The API server understood and said no; asking again changes nothing by itself."""


class UndeclaredFieldError(RefusedError):
    """The installed CRD does not know a field of ours: it is of an older release."""

    def __init__(self, what: str, message: str, path: str) -> None:
        super().__init__(what, message)
        self.path = path


def from_answer(what: str, status: int, body: str) -> KubeError:
    """The error for an answer that is none of 2xx."""
    message, is_status = _message(body)
    undeclared = _UNDECLARED.search(message)
    if undeclared:
        # Comes as a 500, although trying again never helps.
        return UndeclaredFieldError(what, message, undeclared[1])
    match status:
        case 404 if is_status:
            return NotFoundError(what, message)
        case 404:
            # A path that is not served is answered by the server itself, in plain text.
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
