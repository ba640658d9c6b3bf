"""Times in which the API server does not answer: said once when they begin and once when they are over."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from aiohttp import ClientError
from kubernetes.aio.client import ApiException

from collectorfleet.pod.kubernetes_api import error_text

log = logging.getLogger(__name__)

# What time heals: no connection, a slow or confused server, a Role that the operator has yet to make.
TRANSIENT: Final = (ApiException, ClientError, OSError, asyncio.TimeoutError)


class Outage:
    """Of one kind of request: ``what`` is such as "cannot write the status"."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._cause = ""

    def note(self, error: BaseException) -> None:
        """A request failed with ``error``."""
        text = error_text(error)
        if text != self._cause:
            log.warning("%s, trying on: %s", self._what, text)
        self._cause = text

    def over(self) -> None:
        """A request got its answer."""
        if self._cause:
            log.info("no longer: %s", self._what)
        self._cause = ""


def is_status(error: BaseException, status: int) -> bool:
    """Whether the API server answered with this HTTP status."""
    return isinstance(error, ApiException) and error.status == status
