"""Applies a fleet and its ConfigMaps in an order that leaves nothing behind if the API server refuses a part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from kubernetes import client

from collectorfleet.client.errors import ClusterError
from collectorfleet_api import names

_CREATED: Final = 201
_REFUSALS: Final = range(400, 500)
_OPTIONS: Final = {
    "field_manager": "collectorfleet-client",
    "force": True,
    "_content_type": "application/apply-patch+yaml",
}


class Submission:
    """``explained`` makes a ClusterError of what a request raises, with the original error as its cause."""

    def __init__(
        self,
        api: client.ApiClient,
        namespace: str,
        explained: Callable[[], AbstractContextManager[None]],
        *,
        request_seconds: float,
    ) -> None:
        # What they return depends on what they are told, which their types leave out.
        self._custom: Any = client.CustomObjectsApi(api)
        self._core: Any = client.CoreV1Api(api)
        self._namespace = namespace
        self._explained = explained
        self._timeout = {"_request_timeout": request_seconds}

    def check(self, fleet: Mapping[str, Any]) -> str | None:
        """Let the API server check the fleet without storing it. Return the uid of the fleet that is there."""
        return self._apply_fleet(fleet, dry_run="All")

    def apply(self, fleet: Mapping[str, Any], config_maps: Sequence[Mapping[str, Any]]) -> None:
        """Apply the ConfigMaps, then the fleet. If one is refused, delete the ConfigMaps that this call created."""
        created: dict[str, bool] = {}
        try:
            for config_map in config_maps:
                created[config_map["metadata"]["name"]] = self.apply_config_map(config_map)
            self._apply_fleet(fleet)
        except ClusterError as error:
            # Without an answer the fleet may have been stored, and its pods need the ConfigMaps.
            if isinstance(error.__cause__, client.ApiException) and error.__cause__.status in _REFUSALS:
                self._delete([name for name, is_new in created.items() if is_new], error)
            raise

    def apply_config_map(self, config_map: Mapping[str, Any]) -> bool:
        """Say whether it was created."""
        with self._explained():
            _, status, _ = self._core.patch_namespaced_config_map_with_http_info(
                config_map["metadata"]["name"], self._namespace, dict(config_map), **_OPTIONS, **self._timeout
            )
        return bool(status == _CREATED)

    def _apply_fleet(self, fleet: Mapping[str, Any], dry_run: str | None = None) -> str | None:
        with self._explained():
            found, status, _ = self._custom.patch_namespaced_custom_object_with_http_info(
                names.GROUP,
                names.VERSION,
                self._namespace,
                names.PLURAL,
                fleet["metadata"]["name"],
                fleet,
                dry_run=dry_run,
                **_OPTIONS,
                **self._timeout,
            )
            # The client reads no answer that says "created". That of a dry run has a uid that no fleet will have.
            uid: str | None = None if status == _CREATED else found.get("metadata").get("uid")
        return uid

    def _delete(self, config_maps: Sequence[str], refusal: ClusterError) -> None:
        for name in config_maps:
            try:
                with self._explained():
                    self._core.delete_namespaced_config_map(name, self._namespace, **self._timeout)
            except ClusterError as error:
                raise ClusterError(f"{refusal}; delete ConfigMap {name} yourself: {error}") from refusal
