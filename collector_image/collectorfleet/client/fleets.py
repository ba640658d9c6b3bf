"""``Fleets``: submit, look, wait, scale and stop, in one namespace of a cluster."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from kubernetes import client, watch
from urllib3.exceptions import HTTPError

from collectorfleet.client.conditions import condition_is_true, last_word, stalled
from collectorfleet.client.connection import Connection, connect
from collectorfleet.client.errors import ClusterError, ClusterUnavailable, FleetStalled, explained
from collectorfleet.client.events import time_of
from collectorfleet.client.logs import LogLine, read_lines
from collectorfleet.client.release import cluster_release
from collectorfleet.client.submission import Submission
from collectorfleet.client.tree import Tree
from collectorfleet.errors import one_sentence
from collectorfleet.timeline.packed import unpack
from collectorfleet.timeline.timeline import Timeline
from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import CollectorFleet, ConditionType

Object = dict[str, Any]

REQUEST_SECONDS: Final = 30
# A watch that breaks is opened again; this often at least, so that one that hangs unnoticed costs no more.
_WATCH_SECONDS: Final = 60


class Fleets:
    """The CollectorFleets of one namespace.

    >>> fleets = Fleets()
    >>> fleets.submit(yaml.safe_load(Path("fleet.yaml").read_text()))
    >>> fleets.wait("cartpole", "Completed", timeout=600).status.progress.metrics
    {'reward': 452.1}

    Every method asks the API server, and raises a ClusterError in one sentence if that fails:

    * FleetNotFound: the namespace has no fleet of that name.
    * AccessDenied: the credentials are not accepted, or lack a right.
    * ClusterUnavailable: no API server answers that knows CollectorFleets.
    * FleetRejected: the API server calls the fleet invalid.
    """

    def __init__(self, connection: Connection | None = None, *, namespace: str | None = None) -> None:
        """The cluster and namespace of kubectl, where no ``connection`` is given."""
        self._connection = connection or connect(namespace)
        self.namespace = namespace or self._connection.namespace
        # What they return depends on what they are told, which their types leave out.
        self._custom: Any = client.CustomObjectsApi(self._connection.api)
        self._core: Any = client.CoreV1Api(self._connection.api)
        self._submission = Submission(
            self._connection.api, self.namespace, self._explained, request_seconds=REQUEST_SECONDS
        )
        self._of_fleets = {
            "group": names.GROUP,
            "version": names.VERSION,
            "namespace": self.namespace,
            "plural": names.PLURAL,
        }

    def submit(self, fleet: CollectorFleet | Mapping[str, Any], *beside: Mapping[str, Any]) -> CollectorFleet:
        """Create the fleet, or change the one of that name; ``beside`` are ConfigMaps, applied before it.

        If the API server refuses a part, it keeps no ConfigMap that this call made. Returns the fleet as it is stored,
        which nobody has looked at yet: :meth:`wait` for what comes of it.
        """
        body = _body(fleet)
        if beside:
            self._submission.check(body)
        self._submission.apply(body, beside)
        return self.get(body["metadata"]["name"])  # the client reads no answer that says "created"

    def submit_tree(
        self, tree: Tree, fleet: CollectorFleet | Mapping[str, Any], *beside: Mapping[str, Any], path: str | None = None
    ) -> CollectorFleet:
        """As :meth:`submit`, with the code of the fleet in ``tree``, of which ``path`` is put on the import path.

        The tree goes into a ConfigMap that is named by its content and deleted with the fleet: pods of an earlier
        tree keep theirs.

        Raises:
            InvalidOption: the fleet names other code.
        """
        body = tree.put_into(_body(fleet), path)
        name = body["metadata"]["name"]
        uid = self._submission.check(body)
        # Before the fleet, whose pods would wait for it otherwise. The uid of a new fleet is known afterwards.
        self._submission.apply(body, [tree.config_map(name, owner_uid=uid), *beside])
        stored = self.get(name)
        if stored.metadata.uid != uid:
            self._submission.apply_config_map(tree.config_map(name, owner_uid=stored.metadata.uid))
        return stored

    def get(self, name: str) -> CollectorFleet:
        """The fleet with its status."""
        return self._parsed(self.stored(name))

    def stored(self, name: str) -> Object:
        """The fleet as the API server has it."""
        with self._explained():
            found = self._custom.get_namespaced_custom_object(
                **self._of_fleets, name=name, _request_timeout=REQUEST_SECONDS
            )
        return self._of_kind(names.KIND, found)

    def release(self) -> str | None:
        """The release of CollectorFleet that the cluster has; None if it does not tell."""
        return cluster_release(self._connection)

    def list(self) -> Sequence[CollectorFleet]:
        """All fleets of the namespace, by name."""
        with self._explained():
            found = self._custom.list_namespaced_custom_object(**self._of_fleets, _request_timeout=REQUEST_SECONDS)
        stored = self._of_kind(f"{names.KIND}List", found)["items"]
        return sorted(map(self._parsed, stored), key=lambda fleet: fleet.metadata.name)

    def events(self, name: str, last: int = 5) -> Sequence[client.CoreV1Event]:
        """The newest Events about the fleet, oldest of them first."""
        about = f"involvedObject.kind={names.KIND},involvedObject.name={name}"
        with self._explained():
            found = self._core.list_namespaced_event(
                self.namespace, field_selector=about, _request_timeout=REQUEST_SECONDS
            ).items
        return sorted(found, key=lambda event: str(time_of(event)))[-last:]

    def timeline(self, name: str) -> Timeline | None:
        """How the fleet's run went so far, as its driver last wrote it; None where it wrote nothing yet.

        A driver writes once a minute, and when it ends.

        Raises:
            ClusterError: what is stored cannot be read.
        """
        self.stored(name)  # of a fleet that is not there, that is the news
        with self._explained():
            try:
                stored = self._core.read_namespaced_config_map(
                    names.timeline_name(name), self.namespace, _request_timeout=REQUEST_SECONDS
                )
            except client.exceptions.NotFoundException:
                return None
        packed = (stored.binary_data or {}).get(names.TIMELINE_KEY)
        try:
            return None if packed is None else unpack(base64.b64decode(packed))
        except ValueError as error:
            raise ClusterError(f"ConfigMap {names.timeline_name(name)} holds no timeline: {error}") from error

    def wait(
        self,
        name: str,
        condition: str | Callable[[CollectorFleet], bool] = ConditionType.COMPLETED,
        *,
        timeout: float,
    ) -> CollectorFleet:
        """Block until a condition is True, or a function of the fleet is; returns the fleet.

        Raises:
            FleetStalled: it waits for its user, or has failed, so that the condition does not come.
            TimeoutError: not within ``timeout`` seconds; the message has what the fleet said last.
        """
        holds = condition if callable(condition) else condition_is_true(condition)
        deadline = time.monotonic() + timeout
        while True:
            fleet = self.get(name)
            if holds(fleet):
                return fleet
            if message := stalled(fleet):
                raise FleetStalled(f"fleet {name}: {message}")
            if time.monotonic() >= deadline:
                raise TimeoutError(f"fleet {name}: not {condition} within {timeout:g} s; {last_word(fleet)}")
            self._next_change(fleet, min(deadline - time.monotonic(), _WATCH_SECONDS))

    def scale(self, name: str, collectors: int) -> None:
        """Run that many collectors from now on, without a restart of the others."""
        with self._explained():
            found = self._custom.patch_namespaced_custom_object_scale(
                **self._of_fleets,
                name=name,
                body={"spec": {"replicas": collectors}},
                _request_timeout=REQUEST_SECONDS,
            )
        self._of_kind("Scale", found)

    def stop(self, name: str) -> None:
        """Suspend the fleet: a checkpoint where it has one, then no pods; :meth:`resume` goes on from there."""
        self._suspend(name, suspended=True)

    def resume(self, name: str) -> None:
        """Go on with a fleet that was stopped."""
        self._suspend(name, suspended=False)

    def delete(self, name: str) -> None:
        """Delete the fleet with everything that runs; returns at once."""
        with self._explained():
            self._custom.delete_namespaced_custom_object(**self._of_fleets, name=name, _request_timeout=REQUEST_SECONDS)

    def logs(self, name: str, *, follow: bool = False, since_seconds: int | None = None) -> Iterator[LogLine]:
        """What driver and collectors printed, oldest first, each line with who printed it.

        With ``follow`` it goes on until the driver's pod ends.

        Raises:
            ClusterError: the fleet has no driver pod.
            ClusterUnavailable: also in the middle of the log, if its stream breaks off.
        """
        status = self.get(name).status
        pod = status.driver.pod if status and status.driver else None
        if pod is None:
            raise ClusterError(f"fleet {name} has no driver pod yet: {last_word(self.get(name))}")
        with self._explained():
            answer = self._core.read_namespaced_pod_log(
                pod,
                self.namespace,
                follow=follow,
                since_seconds=since_seconds,
                _preload_content=False,
                # A driver that is followed may print nothing for hours.
                _request_timeout=None if follow else REQUEST_SECONDS,
            )
            yield from read_lines(answer.stream(decode_content=True))

    def _suspend(self, name: str, *, suspended: bool) -> None:
        with self._explained():
            found = self._custom.patch_namespaced_custom_object(
                **self._of_fleets,
                name=name,
                body={"spec": {"suspend": suspended}},
                _content_type="application/merge-patch+json",
                _request_timeout=REQUEST_SECONDS,
            )
        self._of_kind(names.KIND, found)

    def _next_change(self, fleet: CollectorFleet, seconds: float) -> None:
        """Block until the fleet is another than this one, or for so long."""
        watched = watch.Watch()
        try:
            for _ in watched.stream(
                self._custom.list_namespaced_custom_object,
                **self._of_fleets,
                field_selector=f"metadata.name={fleet.metadata.name}",
                resource_version=fleet.metadata.resource_version,
                timeout_seconds=max(1, int(seconds)),
                _request_timeout=seconds + REQUEST_SECONDS,
            ):
                return
        except (client.ApiException, HTTPError, ValueError):
            time.sleep(min(1.0, max(seconds, 0.0)))  # what it was about, the next request says
        finally:
            watched.stop()

    def _explained(self) -> AbstractContextManager[None]:
        return explained(self._connection, self.namespace)

    def _of_kind(self, kind: str, found: object) -> Object:
        if isinstance(found, dict) and found.get("kind") == kind:
            return found
        raise ClusterUnavailable(f"the cluster of {self._connection.place} answered with something else than a {kind}")

    def _parsed(self, stored: Object) -> CollectorFleet:
        try:
            return CollectorFleet.parse_stored(stored)
        except (ValueError, TypeError, AttributeError) as error:
            raise ClusterError(
                f"a fleet of namespace {self.namespace} cannot be read; use a client of the version of the cluster's "
                f"CRD: {one_sentence(str(error))}"
            ) from error


def _body(fleet: CollectorFleet | Mapping[str, Any]) -> Object:
    """As it is applied: in the client's namespace, unless the fleet says one itself."""
    if not isinstance(fleet, CollectorFleet):
        return dict(fleet)
    body = fleet.to_wire()
    if "namespace" not in fleet.metadata.model_fields_set:
        del body["metadata"]["namespace"]
    return body
