"""Requests that read and change fleets of the API server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final

from kubernetes import client, watch

from collectorfleet.client.connection import Connection
from collectorfleet.client.errors import ClusterUnavailable, as_cluster_errors
from collectorfleet.client.object_names import checked_fleet
from collectorfleet_api import names
from collectorfleet_api.nesting import decode

Object = dict[str, Any]

_MERGE: Final = "application/merge-patch+json"
# If the API server does not end a watch in time, the client ends the watch this much later.
_WATCH_GRACE_SECONDS: Final = 4


@dataclass(frozen=True)
class Selection:
    """Selects fleets by name, by labels in kubectl's syntax (``team=a,stage!=test``), and by namespace."""

    name: str | None = None
    labels: str | None = None
    all_namespaces: bool = False

    @property
    def query(self) -> dict[str, str]:
        """Return the parameters of the request."""
        by_name = {"field_selector": f"metadata.name={self.name}"} if self.name else {}
        return by_name | ({"label_selector": self.labels} if self.labels else {})


class FleetRequests:
    """Sends requests about fleets. Each method raises a ClusterError if it fails.

    ``seconds`` is the timeout of each request.
    """

    def __init__(self, connection: Connection, namespace: str, seconds: float) -> None:
        self._connection = connection
        self._namespace = namespace
        self._timeout = {"_request_timeout": seconds}
        # The type is Any: the return types depend on the arguments, and the client's annotations do not express this.
        self._custom: Any = client.CustomObjectsApi(connection.api)
        self._everywhere = {"group": names.GROUP, "version": names.VERSION, "plural": names.PLURAL}
        self._here = {**self._everywhere, "namespace": namespace}

    def get(self, name: str, *, within: float | None = None) -> Object:
        """Return the stored fleet. ``within`` replaces the default timeout, in seconds."""
        timeout = self._timeout if within is None else {"_request_timeout": within}
        checked_fleet(name)
        with self.as_cluster_errors():
            found = self._custom.get_namespaced_custom_object(**self._here, name=name, **timeout)
        return self._of_kind(names.KIND, found)

    def list(self, selection: Selection) -> tuple[list[Object], str]:
        """Return the fleets, and the resource version at which a watch continues."""
        request, where = self._request(selection)
        with self.as_cluster_errors():
            found = self._of_kind(f"{names.KIND}List", request(**where, **selection.query, **self._timeout))
            return found["items"], (found.get("metadata") or {}).get("resourceVersion", "")

    def watch(self, selection: Selection, version: str, seconds: float) -> Iterator[dict[str, Any]]:
        """Yield the events after ``version`` for ``seconds``. Each event has ``type`` and ``object``.

        The API server ends the watch after ``seconds``, rounded down to whole seconds, but not before 1 s. If the
        server hangs, an error ends the watch once nothing has arrived for ``seconds`` plus 4 s.

        Raises the errors of the Kubernetes client. If the version is too old, the error is an ApiException with status
        410.
        """
        request, where = self._request(selection)
        watched: Any = watch.Watch()
        watched.unmarshal_event = _event  # the client's own parser recurses once for each level of a value
        limits = {"timeout_seconds": max(1, int(seconds)), "_request_timeout": seconds + _WATCH_GRACE_SECONDS}
        try:
            yield from watched.stream(request, **where, **selection.query, resource_version=version, **limits)
        finally:
            watched.stop()

    def patch(self, name: str, spec: Object) -> Object:
        """Change fields of the spec. Return the stored fleet."""
        change = {"name": checked_fleet(name), "body": {"spec": spec}, "_content_type": _MERGE}
        with self.as_cluster_errors():
            found = self._custom.patch_namespaced_custom_object(**self._here, **change, **self._timeout)
        return self._of_kind(names.KIND, found)

    def scale(self, name: str, replicas: int) -> None:
        """Set the number of collectors."""
        change = {"name": checked_fleet(name), "body": {"spec": {"replicas": replicas}}}
        with self.as_cluster_errors():
            found = self._custom.patch_namespaced_custom_object_scale(**self._here, **change, **self._timeout)
        self._of_kind("Scale", found)

    def delete(self, name: str) -> None:
        """Delete the fleet."""
        checked_fleet(name)
        with self.as_cluster_errors():
            self._custom.delete_namespaced_custom_object(**self._here, name=name, **self._timeout)

    def as_cluster_errors(self) -> AbstractContextManager[None]:
        """Convert errors of the requests inside the block to a ClusterError."""
        return as_cluster_errors(self._connection, self._namespace)

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


def _event(line: str, _return_type: object) -> dict[str, Any]:
    """Return the event in a line of a watch. Values that are nested too deeply become null."""
    event, _ = decode(line, within="object")
    return {**event, "raw_object": event["object"]}
