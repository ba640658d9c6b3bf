"""The requests about fleets: what the API server has stored, and what it is to store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final

from kubernetes import client, watch

from collectorfleet.client.connection import Connection
from collectorfleet.client.errors import ClusterUnavailable, explained
from collectorfleet_api import names

Object = dict[str, Any]

_MERGE: Final = "application/merge-patch+json"


@dataclass(frozen=True)
class Selection:
    """Which fleets: by name, by labels as kubectl has them (``team=a,stage!=test``), and in which namespaces."""

    name: str | None = None
    labels: str | None = None
    all_namespaces: bool = False

    @property
    def query(self) -> dict[str, str]:
        """The parameters of a request."""
        by_name = {"field_selector": f"metadata.name={self.name}"} if self.name else {}
        return by_name | ({"label_selector": self.labels} if self.labels else {})


class FleetRequests:
    """Each raises a ClusterError if it fails; ``seconds`` is the timeout of each."""

    def __init__(self, connection: Connection, namespace: str, seconds: float) -> None:
        self._connection = connection
        self._namespace = namespace
        self._timeout = {"_request_timeout": seconds}
        # What they return depends on what they are told, which their types leave out.
        self._custom: Any = client.CustomObjectsApi(connection.api)
        self._everywhere = {"group": names.GROUP, "version": names.VERSION, "plural": names.PLURAL}
        self._here = {**self._everywhere, "namespace": namespace}

    def get(self, name: str, *, within: float | None = None) -> Object:
        """Return the fleet as it is stored; ``within`` is a timeout other than the usual one."""
        timeout = self._timeout if within is None else {"_request_timeout": within}
        with self.explained():
            found = self._custom.get_namespaced_custom_object(**self._here, name=name, **timeout)
        return self._of_kind(names.KIND, found)

    def list(self, selection: Selection) -> tuple[list[Object], str]:
        """Return the fleets, and the resource version that a watch goes on from."""
        request, where = self._request(selection)
        with self.explained():
            found = self._of_kind(f"{names.KIND}List", request(**where, **selection.query, **self._timeout))
            return found["items"], (found.get("metadata") or {}).get("resourceVersion", "")

    def watch(self, selection: Selection, version: str, seconds: float) -> Iterator[dict[str, Any]]:
        """Yield the events after ``version`` for so long, each with ``type`` and ``object``.

        Raises what the Kubernetes client raises: an ApiException with status 410 if the version is too old.
        """
        request, where = self._request(selection)
        watched = watch.Watch()
        limits = {"timeout_seconds": max(1, int(seconds)), "_request_timeout": seconds + 30}
        try:
            yield from watched.stream(request, **where, **selection.query, resource_version=version, **limits)
        finally:
            watched.stop()

    def patch(self, name: str, spec: Object) -> Object:
        """Change fields of the spec; returns the fleet as it is stored then."""
        change = {"name": name, "body": {"spec": spec}, "_content_type": _MERGE}
        with self.explained():
            found = self._custom.patch_namespaced_custom_object(**self._here, **change, **self._timeout)
        return self._of_kind(names.KIND, found)

    def scale(self, name: str, replicas: int) -> None:
        """Change the number of collectors."""
        change = {"name": name, "body": {"spec": {"replicas": replicas}}}
        with self.explained():
            found = self._custom.patch_namespaced_custom_object_scale(**self._here, **change, **self._timeout)
        self._of_kind("Scale", found)

    def delete(self, name: str) -> None:
        """Delete the fleet."""
        with self.explained():
            self._custom.delete_namespaced_custom_object(**self._here, name=name, **self._timeout)

    def explained(self) -> AbstractContextManager[None]:
        """Raise what goes wrong with the requests inside as a ClusterError."""
        return explained(self._connection, self._namespace)

    def _request(self, selection: Selection) -> tuple[Any, dict[str, str]]:
        if selection.all_namespaces:
            return self._custom.list_cluster_custom_object, self._everywhere
        return self._custom.list_namespaced_custom_object, self._here

    def _of_kind(self, kind: str, found: object) -> Object:
        if isinstance(found, dict) and found.get("kind") == kind:
            return found
        raise ClusterUnavailable(
            f"the cluster of {self._connection.place} answered with an object that is not a {kind}"
        )
