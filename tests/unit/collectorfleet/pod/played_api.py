"""An API server with one fleet, as a driver asks it; it answers as the test says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
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


class PlayedLeases:
    """One Lease. ``odd_answers`` are the first answers: an exception is raised, and other values are returned.

    A patch is stored before its answer, and the answer takes ``seconds_per_answer``.
    """

    def __init__(self, *odd_answers: Any) -> None:
        self.spec: Object = {}
        self.version = 1
        self.odd_answers = list(odd_answers)
        self.seconds_per_answer = 0.0
        self.patches = 0

    @property
    def holder(self) -> str | None:
        return self.spec.get("holderIdentity")

    async def lease(self) -> Any:
        return await self._answer()

    async def patch_lease(self, patch: Object) -> Any:
        if patch["metadata"]["resourceVersion"] != str(self.version):
            raise ApiException(status=409, reason="Conflict")
        before = self.spec
        self.spec = {key: value for key, value in {**before, **patch["spec"]}.items() if value is not None}
        self.version += self.spec != before  # Kubernetes keeps the version of an object that stays the same
        self.patches += 1
        return await self._answer()

    async def _answer(self) -> Any:
        stored = {"metadata": {"resourceVersion": str(self.version)}, "spec": dict(self.spec)}
        await asyncio.sleep(self.seconds_per_answer)
        if not self.odd_answers:
            return stored
        odd = self.odd_answers.pop(0)
        if isinstance(odd, BaseException):
            raise odd
        return odd


class PlayedServer(PlayedApi, PlayedLeases):
    """All that a reporter asks. It has no ConfigMap for a timeline."""

    def __init__(self) -> None:
        PlayedApi.__init__(self)
        PlayedLeases.__init__(self)

    @asynccontextmanager
    async def connect(self, *_: object) -> AsyncIterator[PlayedServer]:
        yield self

    async def timeline(self) -> Object:
        raise ApiException(status=404, reason="Not Found")
