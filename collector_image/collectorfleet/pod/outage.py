"""Log when requests to the API server begin to fail, and when they succeed again."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from aiohttp import ClientError
from kubernetes.aio.client import ApiException

from collectorfleet.pod.kubernetes_api import UnusableAnswer, error_text

log = logging.getLogger(__name__)

# A retry may help. The connection may be lost, or the server may be overloaded. A proxy may have answered in place of
# the server. The operator may still create the Role.
TRANSIENT: Final = (ApiException, ClientError, OSError, asyncio.TimeoutError, UnusableAnswer)


class Outage:
    """An outage of one kind of request. ``what`` names the request, for example "write the status"."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._cause = ""

    def note(self, error: BaseException) -> None:
        """Note that a request failed with ``error``. Logs a warning if the cause is new.

        An error that is not :data:`TRANSIENT` may be a bug, so its traceback is logged too.
        """
        text = error_text(error)
        if text != self._cause:
            traceback_of = None if isinstance(error, TRANSIENT) else error
            log.warning("cannot %s; trying again: %s", self._what, text, exc_info=traceback_of)
        self._cause = text

    def over(self) -> None:
        """Note that a request succeeded. Logs the end of an outage."""
        if self._cause:
            log.info("can %s again", self._what)
        self._cause = ""


def is_status(error: BaseException, status: int) -> bool:
    """Return whether the API server answered with this HTTP status."""
    return isinstance(error, ApiException) and error.status == status
