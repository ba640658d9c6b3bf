"""An API server with one fleet, as a driver asks it; it answers as the test says."""

from __future__ import annotations

import asyncio
from typing import Any

from kubernetes.aio.client import ApiException
from tests.manifests import manifest

from collectorfleet.pod.settings import DriverSettings

SETTINGS = DriverSettings("default", "cheetah", uid="u-1", pod="pod-1", ray_address="-", spec=manifest()["spec"])

Object = dict[str, Any]


class PlayedApi:
    """``failures`` are raised first, one for each request; then the stored fleet is the answer."""

    def __init__(self, *failures: Exception) -> None:
        self.stored: Object = manifest()
        self.stored["metadata"]["uid"] = "u-1"
        self.failures = list(failures)
        self.written: list[Object] = []
        self.seconds_per_request = 0.0

    async def fleet(self) -> Object:
        await self._request()
        return self.stored

    async def apply_status(self, status: Object) -> Object:
        self.written.append(status)
        await self._request()
        if self.stored["metadata"]["uid"] != SETTINGS.uid:
            raise ApiException(status=409, reason="Conflict")
        return self.stored

    async def _request(self) -> None:
        await asyncio.sleep(self.seconds_per_request)
        if self.failures:
            raise self.failures.pop(0)
