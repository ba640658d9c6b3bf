"""``Fleets`` submits, reads, awaits, scales and stops the fleets of one namespace."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from kubernetes import client

from collectorfleet import option_types
from collectorfleet.client.changes import Change, await_change, changes
from collectorfleet.client.conditions import condition_is_true, describe_readiness, is_suspended_idle, stalled
from collectorfleet.client.connection import Connection, connect, without_retries
from collectorfleet.client.errors import ClusterError, ClusterUnavailable, FleetStalled
from collectorfleet.client.events import time_of
from collectorfleet.client.fleet_requests import FleetRequests, Object, Selection
from collectorfleet.client.logs import LogLine, read_lines
from collectorfleet.client.object_names import checked_depth, checked_namespace, checked_object
from collectorfleet.client.release import Releases, cluster_releases
from collectorfleet.client.stored_fleets import parsed, parsed_if_readable
from collectorfleet.client.submission import Submission
from collectorfleet.client.tree import Tree
from collectorfleet.option_ranges import Collectors, FiniteOrInfinite, Positive, Seconds
from collectorfleet.timeline.packed import unpack
from collectorfleet.timeline.timeline import Timeline
from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import CollectorFleet, ConditionType

REQUEST_SECONDS: Final = 30
_RETRY_SECONDS: Final = 1.0


class Fleets:
    """The CollectorFleets of one namespace.

    >>> fleets = Fleets()
    >>> fleets.submit(yaml.safe_load(Path("fleet.yaml").read_text()))
    >>> fleets.wait("cartpole", "Completed", timeout=600).status.progress.metrics
    {'reward': 452.1}

    Every method sends requests to the API server. If a request fails, the method raises one of these ClusterErrors:

    * FleetNotFound: the namespace has no fleet of that name.
    * AccessDenied: the credentials are invalid, or lack a right.
    * ClusterUnavailable: no API server with the CRD of CollectorFleets answers.
    * FleetRejected: the API server rejects the fleet as invalid.
    """

    @option_types.checked("Fleets.")
    def __init__(
        self,
        connection: Connection | None = None,
        *,
        namespace: str | None = None,
        request_seconds: Seconds = REQUEST_SECONDS,
    ) -> None:
        """Use ``connection``, or the cluster and namespace of kubectl.

        ``request_seconds`` is the timeout of each request. Raises InvalidOption if no namespace can have the name
        ``namespace``.
        """
        self._connection = connection or connect(namespace)
        self.namespace = checked_namespace(namespace) if namespace else self._connection.namespace
        self._seconds = request_seconds
        # The type is Any: the return types depend on the arguments, and the client's annotations do not express this.
        self._core: Any = client.CoreV1Api(self._connection.api)
        self._requests = FleetRequests(self._connection, self.namespace, request_seconds)
        self._explained = self._requests.as_cluster_errors
        self._submission = Submission(
            self._connection.api, self.namespace, self._explained, request_seconds=request_seconds
        )

    @option_types.checked("Fleets.submit.")
    def submit(self, fleet: CollectorFleet | Mapping[str, Any], *beside: Mapping[str, Any]) -> CollectorFleet:
        """Create the fleet, or change the existing fleet of that name. First apply the ConfigMaps ``beside``.

        If the API server rejects the fleet or a ConfigMap, the ConfigMaps that this call created are deleted. Returns
        the stored fleet, which the operator has not processed yet. Use :meth:`wait` to await the result.

        Raises:
            FleetRejected: a manifest has no valid ``metadata.name``, or the API server rejects the fleet.
        """
        body = _body(fleet)
        name = checked_object(names.KIND, body)
        if beside:
            self._submission.check(body)
        self._submission.apply(body, beside)
        return self.get(name)  # the client cannot parse an answer with status 201

    @option_types.checked("Fleets.submit_tree.")
    def submit_tree(
        self, tree: Tree, fleet: CollectorFleet | Mapping[str, Any], *beside: Mapping[str, Any], path: str | None = None
    ) -> CollectorFleet:
        """Submit the fleet like :meth:`submit`, with the code in ``tree``.

        ``path`` is the folder of the tree that is added to the import path. The tree is stored in a ConfigMap that is
        deleted with the fleet. The ConfigMap's name contains a digest of the content, so that pods with an earlier tree
        keep their ConfigMap.

        Raises:
            InvalidOption: the manifest has no ``spec``, or ``spec.code`` is already set.
        """
        given = _body(fleet)
        name = checked_object(names.KIND, given)
        body = tree.put_into(given, path)
        uid = self._submission.check(body)
        # Apply the ConfigMap first, because the fleet's pods would otherwise wait for it. A new fleet has no uid yet.
        # So the owner reference is added afterwards.
        self._submission.apply(body, [tree.config_map(name, owner_uid=uid), *beside])
        stored = self.get(name)
        if stored.metadata.uid != uid:
            self._submission.apply_config_map(tree.config_map(name, owner_uid=stored.metadata.uid))
        return stored

    def get(self, name: str) -> CollectorFleet:
        """Return the fleet with its status."""
        return parsed(self.stored(name))

    def stored(self, name: str) -> Object:
        """Return the fleet's manifest as the API server stores it."""
        return self._requests.get(name)

    def releases(self) -> Releases:
        """Return the releases of CollectorFleet in the cluster, as far as they can be read."""
        return cluster_releases(self._connection)

    def list(self, *, selector: str | None = None, all_namespaces: bool = False) -> Sequence[CollectorFleet]:
        """Return all fleets of the namespace, or of all namespaces, sorted by namespace and name.

        ``selector`` is a label selector in kubectl's syntax: ``team=a,stage!=test``. The result lacks
        fleets that cannot be read. A UserWarning names each of them.
        """
        stored, _ = self._requests.list(Selection(labels=selector, all_namespaces=all_namespaces))
        found = filter(None, map(parsed_if_readable, stored))
        return sorted(found, key=lambda fleet: (fleet.metadata.namespace, fleet.metadata.name))

    def watch(
        self, name: str | None = None, *, selector: str | None = None, all_namespaces: bool = False
    ) -> Iterator[Sequence[Change]]:
        """Yield all fleets that :meth:`list` would return, then each change, without end.

        Each item is a list of changes. The first list has all fleets, and may be empty. If ``name`` is given, only this
        fleet is watched.

        Raises:
            FleetNotFound: the fleet ``name`` does not exist at the start.
            ClusterUnavailable: the API server does not answer, at the start or later.
        """
        if name is not None:
            self.get(name)
        yield from changes(self._requests, Selection(name, selector, all_namespaces))

    @option_types.checked("Fleets.events.")
    def events(self, name: str, last: Positive = 5) -> Sequence[client.CoreV1Event]:
        """Return the newest Events about the fleet, in order of time."""
        about = f"involvedObject.kind={names.KIND},involvedObject.name={name}"
        with self._explained():
            found = self._core.list_namespaced_event(
                self.namespace, field_selector=about, _request_timeout=self._seconds
            ).items
        return sorted(found, key=lambda event: str(time_of(event)))[-last:]

    def timeline(self, name: str) -> Timeline | None:
        """Return the newest timeline that the fleet's driver wrote, or None if the driver has written no timeline.

        A driver writes the timeline once a minute, and when the driver ends.

        Raises:
            ClusterError: the stored timeline cannot be read.
        """
        self.stored(name)  # raises FleetNotFound if the fleet does not exist
        with self._explained():
            try:
                stored = self._core.read_namespaced_config_map(
                    names.timeline_name(name), self.namespace, _request_timeout=self._seconds
                )
            except client.exceptions.NotFoundException:
                return None
        packed = (stored.binary_data or {}).get(names.TIMELINE_KEY)
        try:
            return None if packed is None else unpack(base64.b64decode(packed))
        except ValueError as error:
            raise ClusterError(f"ConfigMap {names.timeline_name(name)} has no timeline: {error}") from error

    @option_types.checked("Fleets.wait.")
    def wait(
        self,
        name: str,
        condition: str | Callable[[CollectorFleet], bool] = ConditionType.COMPLETED,
        *,
        timeout: FiniteOrInfinite,
    ) -> CollectorFleet:
        """Block until a condition is True, or a function of the fleet returns True. Return the fleet.

        If the API server does not answer, the request is repeated until the timeout. If the API server hangs, the call
        takes up to 5 s longer.

        Raises:
            FleetStalled: the fleet has failed, or cannot continue until its user changes something.
            TimeoutError: the condition is not True within ``timeout`` seconds. The message has the fleet's Ready
                condition, or the reason why the API server did not answer.
        """
        holds = condition if callable(condition) else condition_is_true(condition)
        deadline = time.monotonic() + timeout
        while True:
            seen = self._seen(name, deadline)
            if isinstance(seen, CollectorFleet):
                if holds(seen):
                    return seen
                if message := stalled(seen):
                    raise FleetStalled(f"fleet {name}: {message}")
            left = deadline - time.monotonic()
            if left <= 0:
                raise _late(f"fleet {name}: not {condition} within {timeout:g} s", seen)
            if isinstance(seen, CollectorFleet):
                await_change(self._requests, seen, left)
            else:
                time.sleep(min(_RETRY_SECONDS, left))

    def _seen(self, name: str, deadline: float) -> CollectorFleet | ClusterUnavailable:
        within = min(max(deadline - time.monotonic(), _RETRY_SECONDS), self._seconds)
        try:
            with without_retries():
                return parsed(self._requests.get(name, within=within))
        except ClusterUnavailable as error:
            return error

    @option_types.checked("Fleets.scale.")
    def scale(self, name: str, collectors: Collectors) -> None:
        """Set the number of collectors. The remaining collectors are not restarted."""
        self._requests.scale(name, collectors)

    def stop(self, name: str) -> CollectorFleet:
        """Suspend the fleet.

        The driver writes a checkpoint if ``spec.driver.checkpoint`` is set. Then the pods are deleted. :meth:`resume`
        continues from the checkpoint. Returns the stored fleet, which the operator has not processed yet.
        """
        return parsed(self._requests.patch(name, {"suspend": True}))

    def resume(self, name: str) -> CollectorFleet:
        """Resume a stopped or idle fleet. Return the stored fleet like :meth:`stop`."""
        resumed = parsed(self._requests.patch(name, {"suspend": False}))
        if not is_suspended_idle(resumed):
            return resumed
        # The request changed nothing, and the operator waits for a change of the spec.
        self._requests.patch(name, {"suspend": True})
        return parsed(self._requests.patch(name, {"suspend": False}))

    def delete(self, name: str) -> None:
        """Delete the fleet with all its pods. Returns without waiting for the end of the pods."""
        self._requests.delete(name)

    @option_types.checked("Fleets.logs.")
    def logs(self, name: str, *, follow: bool = False, since_seconds: Positive | None = None) -> Iterator[LogLine]:
        """Yield the lines that the driver and the collectors printed, oldest first, each with its source.

        With ``follow``, the log continues until the driver's pod ends.

        Raises:
            ClusterError: the fleet has no driver pod.
            ClusterUnavailable: the API server does not answer, or the stream of the log breaks off.
        """
        status = self.get(name).status
        pod = status.driver.pod if status and status.driver else None
        if pod is None:
            raise ClusterError(f"fleet {name} has no driver pod yet: {describe_readiness(self.get(name))}")
        with self._explained():
            answer = self._core.read_namespaced_pod_log(
                pod,
                self.namespace,
                # Without a name, the API server refuses the request for a pod with several containers.
                container=names.DRIVER_CONTAINER,
                follow=follow,
                since_seconds=since_seconds,
                _preload_content=False,
                # A driver may print nothing for hours.
                _request_timeout=None if follow else self._seconds,
            )
            yield from read_lines(answer.stream(decode_content=True))


def _late(what: str, seen: CollectorFleet | ClusterUnavailable) -> TimeoutError:
    made = TimeoutError(f"{what}; {describe_readiness(seen) if isinstance(seen, CollectorFleet) else seen}")
    made.__cause__ = seen if isinstance(seen, ClusterUnavailable) else None
    return made


def _body(fleet: CollectorFleet | Mapping[str, Any]) -> Object:
    """Return the manifest to apply, with only the fields that the fleet sets."""
    if not isinstance(fleet, CollectorFleet):
        checked_depth(fleet)
        return dict(fleet)
    # Applied defaults would overwrite what other clients changed, such as a scaled number of collectors.
    return fleet.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)
