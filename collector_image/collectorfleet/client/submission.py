"""Submission of a fleet and its ConfigMaps. If the API server rejects an object, the new ConfigMaps are deleted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from kubernetes import client

from collectorfleet.client.errors import ClusterError, FleetRejected
from collectorfleet.client.object_names import checked_object
from collectorfleet_api import names

_CREATED: Final = 201
_REFUSALS: Final = range(400, 500)
_OPTIONS: Final = {
    "field_manager": "collectorfleet-client",
    "force": True,
    "_content_type": "application/apply-patch+yaml",
}


class Submission:
    """Applies fleets and ConfigMaps.

    ``as_cluster_errors`` converts an error of a request to a ClusterError with the original error as its cause.
    """

    def __init__(
        self,
        api: client.ApiClient,
        namespace: str,
        as_cluster_errors: Callable[[], AbstractContextManager[None]],
        *,
        request_seconds: float,
    ) -> None:
        # The type is Any: the return types depend on the arguments, and the client's annotations do not express this.
        self._custom: Any = client.CustomObjectsApi(api)
        self._core: Any = client.CoreV1Api(api)
        self._namespace = namespace
        self._explained = as_cluster_errors
        self._timeout = {"_request_timeout": request_seconds}

    def check(self, fleet: Mapping[str, Any]) -> str | None:
        """Validate the fleet by a dry run. Return the uid of the existing fleet, or None if the fleet is new."""
        return self._apply_fleet(fleet, dry_run="All")

    def apply(self, fleet: Mapping[str, Any], config_maps: Sequence[Mapping[str, Any]]) -> None:
        """Apply the ConfigMaps, then the fleet.

        If the API server rejects an object, delete the ConfigMaps that this call created.
        """
        named = {checked_object("ConfigMap", config_map): config_map for config_map in config_maps}
        created: dict[str, bool] = {}
        try:
            for name, config_map in named.items():
                created[name] = self.apply_config_map(config_map)
            self._apply_fleet(fleet)
        except ClusterError as error:
            # If no answer arrived, the API server may have stored the fleet. The fleet's pods then need the ConfigMaps.
            cause = error.__cause__
            is_refusal = isinstance(cause, client.ApiException) and cause.status in _REFUSALS
            if is_refusal or isinstance(error, FleetRejected):
                self._delete([name for name, is_new in created.items() if is_new], error)
            raise

    def apply_config_map(self, config_map: Mapping[str, Any]) -> bool:
        """Apply the ConfigMap. Return whether it was created."""
        with self._explained():
            _, status, _ = self._core.patch_namespaced_config_map_with_http_info(
                config_map["metadata"]["name"], self._namespace, dict(config_map), **_OPTIONS, **self._timeout
            )
        return bool(status == _CREATED)

    def _apply_fleet(self, fleet: Mapping[str, Any], dry_run: str | None = None) -> str | None:
        name = checked_object(names.KIND, fleet)
        with self._explained():
            found, status, _ = self._custom.patch_namespaced_custom_object_with_http_info(
                names.GROUP,
                names.VERSION,
                self._namespace,
                names.PLURAL,
                name,
                fleet,
                dry_run=dry_run,
                **_OPTIONS,
                **self._timeout,
            )
            # The client cannot parse an answer with status 201. A dry run that would create the fleet returns a random
            # uid.
            uid: str | None = None if status == _CREATED else found.get("metadata").get("uid")
        return uid

    def _delete(self, config_maps: Sequence[str], refusal: ClusterError) -> None:
        for name in config_maps:
            try:
                with self._explained():
                    self._core.delete_namespaced_config_map(name, self._namespace, **self._timeout)
            except ClusterError as error:
                raise ClusterError(
                    f"{refusal}; ConfigMap {name} remains, because its deletion failed ({error}); delete this ConfigMap"
                ) from refusal
