"""Send the driver's requests to the API server: for its fleet, the fleet's status, its Lease and its timeline."""

from __future__ import annotations

import json
import os
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any, Final

from kubernetes.aio import client, config
from kubernetes.aio.dynamic import DynamicClient
from kubernetes.aio.dynamic.resource import Resource

from collectorfleet.pod.access import Access
from collectorfleet.pod.objects import Object
from collectorfleet.pod.settings import DriverSettings
from collectorfleet_api import names

# One timeout covers connecting and reading, because the client raises TypeError for two timeouts. The timeout is short,
# because a retry helps more than waiting.
REQUEST_SECONDS: Final = 5


class UnusableAnswer(Exception):
    """An answer with a success status, but without a Kubernetes object, for example a proxy's page."""


class FleetApi:
    """The API of one fleet, its driver's Lease and its timeline.

    Each request times out after ``REQUEST_SECONDS``. Methods raise the exceptions of ``kubernetes.aio``, and
    UnusableAnswer.
    """

    def __init__(self, dynamic: DynamicClient, settings: DriverSettings, access: Access) -> None:
        self._settings = settings
        self._access = access
        self._fleets = _fleets(dynamic)
        self._leases = _leases(dynamic)
        self._config_maps = _config_maps(dynamic)

    async def fleet(self) -> Object:
        return await self._answer(
            self._fleets.get(
                name=self._settings.name, namespace=self._settings.namespace, _request_timeout=REQUEST_SECONDS
            )
        )

    async def apply_status(self, status: Object) -> Object:
        """Write the driver's fields of the status, and return the whole stored fleet.

        If another fleet has the name now, its uid differs, and the API server answers with a conflict (409).
        """
        settings = self._settings
        body = {
            "apiVersion": names.API_VERSION,
            "kind": names.KIND,
            "metadata": {"name": settings.name, "namespace": settings.namespace, "uid": settings.uid},
            "status": status,
        }
        return await self._answer(
            self._fleets.status.server_side_apply(
                body=body, field_manager=names.DRIVER_MANAGER, force_conflicts=True, _request_timeout=REQUEST_SECONDS
            )
        )

    async def lease(self) -> Object:
        return await self._answer(
            self._leases.get(
                name=names.driver_name(self._settings.name),
                namespace=self._settings.namespace,
                _request_timeout=REQUEST_SECONDS,
            )
        )

    async def patch_lease(self, patch: Object) -> Object:
        return await self._answer(
            self._leases.patch(
                body=patch,
                name=names.driver_name(self._settings.name),
                namespace=self._settings.namespace,
                content_type="application/merge-patch+json",
                _request_timeout=REQUEST_SECONDS,
            )
        )

    async def timeline(self) -> Object:
        """Return the ConfigMap of the timeline."""
        return await self._answer(
            self._config_maps.get(
                name=names.timeline_name(self._settings.name),
                namespace=self._settings.namespace,
                _request_timeout=REQUEST_SECONDS,
            )
        )

    async def patch_timeline(self, content: str) -> Object:
        """Write ``content``, the packed timeline in base64, to the ConfigMap."""
        return await self._answer(
            self._config_maps.patch(
                body={"binaryData": {names.TIMELINE_KEY: content}},
                name=names.timeline_name(self._settings.name),
                namespace=self._settings.namespace,
                content_type="application/merge-patch+json",
                _request_timeout=REQUEST_SECONDS,
            )
        )

    async def _answer(self, request: Awaitable[Any]) -> Object:
        try:
            found = _checked((await request).to_dict())
        except client.ApiException as error:
            if error.status:
                self._access.answered(error.status, time.monotonic())
            raise
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise UnusableAnswer(f"the API server's answer is not an object: {error_text(error)}") from error
        self._access.answered(HTTPStatus.OK, time.monotonic())
        return found


@asynccontextmanager
async def connect(settings: DriverSettings, access: Access) -> AsyncIterator[FleetApi]:
    """Connect to the API server: in a pod with its ServiceAccount, elsewhere with the kubeconfig file."""
    configuration = client.Configuration()
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        config.load_incluster_config(client_configuration=configuration)
    else:
        await config.load_kube_config(os.environ.get("KUBECONFIG"), client_configuration=configuration)
    async with client.ApiClient(configuration) as api:
        # An awaited DynamicClient would discover all kinds, and cache them in a file with a predictable name.
        yield FleetApi(DynamicClient(api), settings, access)


def _checked(answer: Object) -> Object:
    """Return ``answer``. Raises TypeError or LookupError if the answer does not identify an object."""
    for field in ("name", "uid", "resourceVersion"):
        answer["metadata"][field]
    return answer


def error_text(error: BaseException) -> str:
    """Return an error of a request as one line, with the API server's message if there is a message."""
    if isinstance(error, client.ApiException):
        try:
            message = json.loads(error.body or "")["message"]
        except (ValueError, KeyError, TypeError):
            message = error.reason
        return f"HTTP {error.status}: {message}"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _fleets(dynamic: DynamicClient) -> Resource:
    status = {"name": f"{names.PLURAL}/status", "kind": names.KIND, "namespaced": True, "verbs": ["patch"]}
    return Resource(
        prefix="apis",
        group=names.GROUP,
        api_version=names.VERSION,
        kind=names.KIND,
        namespaced=True,
        name=names.PLURAL,
        client=dynamic,
        subresources={"status": status},
    )


def _leases(dynamic: DynamicClient) -> Resource:
    return Resource(
        prefix="apis",
        group="coordination.k8s.io",
        api_version="v1",
        kind="Lease",
        namespaced=True,
        name="leases",
        client=dynamic,
    )


def _config_maps(dynamic: DynamicClient) -> Resource:
    return Resource(
        prefix="api",
        group="",
        api_version="v1",
        kind="ConfigMap",
        namespaced=True,
        name="configmaps",
        client=dynamic,
    )
