"""Failed requests that time heals: said once when they begin and once when they are over."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from aiohttp import ClientError
from kubernetes.aio.client import ApiException

from collectorfleet.pod.kubernetes_api import error_text

log = logging.getLogger(__name__)

# No connection, a slow or confused server, a Role that the operator has yet to make.
TRANSIENT: Final = (ApiException, ClientError, OSError, asyncio.TimeoutError)


class Trouble:
    """Of one kind of request, such as "cannot write the status"."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._now = ""

    def note(self, error: BaseException) -> None:
        text = error_text(error)
        if text != self._now:
            log.warning("%s, trying on: %s", self._what, text)
        self._now = text

    def over(self) -> None:
        if self._now:
            log.info("no longer: %s", self._what)
        self._now = ""


def is_status(error: BaseException, status: int) -> bool:
    """Whether the API server answered with this HTTP status."""
    return isinstance(error, ApiException) and error.status == status
