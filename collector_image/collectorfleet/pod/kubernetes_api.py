"""The three requests that a driver makes of the API server: read its fleet, write its report, renew its Lease."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from kubernetes.aio import client, config
from kubernetes.aio.dynamic import DynamicClient
from kubernetes.aio.dynamic.resource import Resource

from collectorfleet.pod.objects import Object
from collectorfleet.pod.settings import DriverSettings
from collectorfleet_api import names

# A number, because a pair is a TypeError; short, because the next try is what helps.
REQUEST_SECONDS: Final = 5


class FleetApi:
    """One fleet and its driver's Lease in the API server. Methods raise what ``kubernetes.aio`` raises."""

    def __init__(self, dynamic: DynamicClient, settings: DriverSettings) -> None:
        self._settings = settings
        self._fleets = _fleets(dynamic)
        self._leases = _leases(dynamic)

    async def fleet(self) -> Object:
        answer = await self._fleets.get(
            name=self._settings.name, namespace=self._settings.namespace, _request_timeout=REQUEST_SECONDS
        )
        return _object(answer)

    async def apply_status(self, status: Object) -> Object:
        """Write the driver's part of the status; returns the whole fleet as it is now.

        Of this very fleet: another one that has its name now is a conflict.
        """
        settings = self._settings
        body = {
            "apiVersion": names.API_VERSION,
            "kind": names.KIND,
            "metadata": {"name": settings.name, "namespace": settings.namespace, "uid": settings.uid},
            "status": status,
        }
        answer = await self._fleets.status.server_side_apply(
            body=body, field_manager=names.DRIVER_MANAGER, force_conflicts=True, _request_timeout=REQUEST_SECONDS
        )
        return _object(answer)

    async def lease(self) -> Object:
        answer = await self._leases.get(
            name=names.driver_name(self._settings.name),
            namespace=self._settings.namespace,
            _request_timeout=REQUEST_SECONDS,
        )
        return _object(answer)

    async def patch_lease(self, patch: Object) -> Object:
        answer = await self._leases.patch(
            body=patch,
            name=names.driver_name(self._settings.name),
            namespace=self._settings.namespace,
            content_type="application/merge-patch+json",
            _request_timeout=REQUEST_SECONDS,
        )
        return _object(answer)


@asynccontextmanager
async def connect(settings: DriverSettings) -> AsyncIterator[FleetApi]:
    """Within a pod with its ServiceAccount, elsewhere with ``KUBECONFIG``."""
    configuration = client.Configuration()
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        config.load_incluster_config(client_configuration=configuration)
    else:
        await config.load_kube_config(os.environ.get("KUBECONFIG"), client_configuration=configuration)
    async with client.ApiClient(configuration) as api:
        # Not awaited: that would discover every kind and write a cache into a file of predictable name.
        yield FleetApi(DynamicClient(api), settings)


def error_text(error: BaseException) -> str:
    """An error of a request in one line: the API server's own message where there is one."""
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


def _object(answer: Any) -> Object:
    found: Object = answer.to_dict()
    return found
