"""Export of a fleet's weights from the cluster to a file. A pod with the checkpoint claim reads the weights."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from kubernetes import client
from kubernetes.stream import stream
from kubernetes.stream.ws_client import ERROR_CHANNEL
from websocket import WebSocketException

from collectorfleet import durable_files
from collectorfleet.client.connection import Connection
from collectorfleet.client.errors import ClusterError, ClusterUnavailable, as_cluster_errors
from collectorfleet.client.export_pod import CONTAINER, digest_command, export_command, export_pod, piece_command
from collectorfleet.client.fleets import REQUEST_SECONDS
from collectorfleet.errors import InvalidOption, one_sentence
from collectorfleet_api.v1alpha1 import CollectorFleet

_LOOK_SECONDS: Final = 1.0
# An image of several gigabytes may have to be pulled.
_START_SECONDS: Final = 900.0
# The timeout of one command in the pod. Copying one piece of the file is such a command.
_COMMAND_SECONDS: Final = 600.0
_PIECE_BYTES: Final = 32 * 2**20
_SHARED: Final = frozenset({"ReadWriteMany", "ReadOnlyMany"})
_OF_ONE_POD: Final = "ReadWriteOncePod"


class Exporter:
    """Exports weights. The exporter calls ``report`` with one sentence for each step."""

    def __init__(self, connection: Connection, report: Callable[[str], None]) -> None:
        self._connection = connection
        self._namespace = connection.namespace
        self._report = report
        self._timeout = {"_request_timeout": REQUEST_SECONDS}
        # The type is Any: the return types depend on the arguments, and the client's annotations do not express this.
        self._core: Any = client.CoreV1Api(connection.api)
        # This client does not check content types, because streams have no content type.
        self._streams: Any = client.CoreV1Api(client.ApiClient(connection.api.configuration))

    def export(self, fleet: CollectorFleet, driver: Mapping[str, Any], file: Path, *, best: bool) -> None:
        """Write the weights of the newest checkpoint, or the best evaluated weights, into ``file``.

        If the export fails, ``file`` does not change.

        Args:
            fleet: the fleet as the API server stores it.
            driver: the template of the driver's pod.
            file: the output. Its suffix selects the format.
            best: export the weights with the highest mean return of an evaluation.

        Raises:
            InvalidOption: the fleet has no checkpoints, or the requested weights do not exist.
            ClusterError: the pod did not start, or the copy failed.
            OSError: ``file`` cannot be written.
        """
        pod = export_pod(fleet, driver, node=self._node(fleet))

        def copy(out: BinaryIO) -> None:
            with self._running(pod) as name:
                self._run(name, export_command(fleet.metadata.name, file.suffix, best=best))
                self._copy(name, file.suffix, out)

        durable_files.write(file, copy)

    def _node(self, fleet: CollectorFleet) -> str | None:
        """Return the running driver's node if the claim can be mounted on only one node at a time.

        Return None if any node can mount the claim, or if no driver runs. Raises InvalidOption if only the driver's pod
        can mount the claim.
        """
        checkpoint, status = fleet.spec.driver.checkpoint, fleet.status
        name = status.driver.pod if status and status.driver else None
        if checkpoint is None or name is None:
            return None
        with self._explained():
            claim = self._core.read_namespaced_persistent_volume_claim(
                checkpoint.claim_name, self._namespace, **self._timeout
            )
            try:
                driver = self._core.read_namespaced_pod(name, self._namespace, **self._timeout)
            except client.exceptions.NotFoundException:
                return None
        modes = set(claim.spec.access_modes or [])
        if modes & _SHARED or driver.status.phase in ("Succeeded", "Failed"):
            return None
        if modes == {_OF_ONE_POD}:
            raise InvalidOption(
                f"claim {checkpoint.claim_name} is {_OF_ONE_POD}, and driver pod {name} uses the claim; run "
                f"`collectorfleet stop {fleet.metadata.name}` first, then export"
            )
        return str(driver.spec.node_name) if driver.spec.node_name else None

    @contextmanager
    def _running(self, pod: Mapping[str, Any]) -> Iterator[str]:
        """Create the pod. Delete it at the end of the block."""
        with self._explained():
            name = str(self._core.create_namespaced_pod(self._namespace, dict(pod), **self._timeout).metadata.name)
        try:
            self._await_start(name)
            yield name
        finally:
            self._delete(name)

    def _delete(self, pod: str) -> None:
        """Delete the pod, or report why the deletion failed. An error raised here would hide why the export failed."""
        try:
            with self._explained(), suppress(client.exceptions.NotFoundException):
                self._core.delete_namespaced_pod(pod, self._namespace, grace_period_seconds=0, **self._timeout)
        except ClusterError as error:
            self._report(f"pod {pod} was not deleted and ends within an hour: {error}")

    def _await_start(self, name: str) -> None:
        deadline, said = time.monotonic() + _START_SECONDS, ""
        while True:
            with self._explained():
                pod = self._core.read_namespaced_pod(name, self._namespace, **self._timeout)
            if pod.status.phase == "Running":
                return
            state = state_of(pod)
            if pod.status.phase != "Pending":
                raise ClusterError(f"pod {name}: {state}")
            if time.monotonic() > deadline:
                raise ClusterError(f"pod {name} has not started within {_START_SECONDS:g} s: {state}")
            if state != said:
                self._report(f"pod {name}: {state}")
                said = state
            time.sleep(_LOOK_SECONDS)

    def _copy(self, pod: str, suffix: str, out: BinaryIO) -> None:
        size_text, digest = self._run(pod, digest_command(suffix)).decode().split()
        size, copied, hashed = int(size_text), 0, hashlib.sha256()
        while copied < size:
            self._report(f"copied {copied:,} of {size:,} bytes")
            piece = self._run(pod, piece_command(suffix, copied, _PIECE_BYTES))
            if len(piece) != min(_PIECE_BYTES, size - copied):
                raise ClusterUnavailable(
                    f"pod {pod}: the copy broke off after {copied + len(piece):,} of {size:,} bytes"
                )
            hashed.update(piece)
            out.write(piece)
            copied += len(piece)
        if hashed.hexdigest() != digest:
            raise ClusterError(f"pod {pod}: the copy of {size:,} bytes differs from the file in the pod; try again")

    def _run(self, pod: str, command: Sequence[str]) -> bytes:
        """Run a command in the pod and return its output.

        Raises:
            InvalidOption: the command failed. The message has the command's error.
            ClusterError: the command did not end in time, or the connection broke off.
        """
        opened = self._open(pod, command)
        try:
            opened.run_forever(timeout=_COMMAND_SECONDS)
            if opened.is_open():
                raise ClusterError(f"pod {pod}: `{command[-1]}` did not end within {_COMMAND_SECONDS:g} s")
            printed, error = opened.read_stdout(), opened.read_stderr()
            ended = json.loads(opened.read_channel(ERROR_CHANNEL) or "{}")
        except (OSError, WebSocketException) as lost:
            raise ClusterUnavailable(f"pod {pod}: the connection broke off ({type(lost).__name__})") from lost
        finally:
            opened.close()
        if not ended:
            raise ClusterUnavailable(f"pod {pod}: the connection broke off")
        if ended.get("status") != "Success":
            raise InvalidOption(f"pod {pod}: {_last_line(error) or one_sentence(str(ended.get('message')))}")
        return bytes(printed)

    def _open(self, pod: str, command: Sequence[str]) -> Any:
        options = {"stdin": False, "stdout": True, "stderr": True, "tty": False, "binary": True}
        with self._explained():
            try:
                return stream(
                    self._streams.connect_get_namespaced_pod_exec,
                    pod,
                    self._namespace,
                    container=CONTAINER,
                    command=list(command),
                    _preload_content=False,
                    **options,
                    **self._timeout,
                )
            except client.ApiException as error:
                raise _first_cause(error) from error

    @contextmanager
    def _explained(self) -> Iterator[None]:
        with as_cluster_errors(self._connection, self._namespace):
            yield


def _first_cause(error: client.ApiException) -> BaseException:
    """Return the original error of a stream. The Kubernetes client converts all errors of a stream to one class."""
    cause = error.__context__
    # These attributes are from websocket-client, the library below the Kubernetes client.
    if (status := getattr(cause, "status_code", None)) is not None:
        refused = client.ApiException(status=status, reason=getattr(cause, "status_message", None))
        refused.body = (getattr(cause, "resp_body", None) or b"").decode(errors="replace")
        return refused
    return error if cause is None or isinstance(cause, Exception) else cause


def state_of(pod: Any) -> str:
    """Return why a pod does not run."""
    for container in pod.status.container_statuses or []:
        if waiting := container.state.waiting:
            return ": ".join(filter(None, (waiting.reason, waiting.message)))
        if ended := container.state.terminated:
            return ": ".join(filter(None, (f"{ended.reason} (exit code {ended.exit_code})", ended.message)))
    for condition in pod.status.conditions or []:
        if condition.status == "False" and condition.message:
            return str(condition.message)
    return str(pod.status.message or pod.status.reason or pod.status.phase)


def _last_line(printed: bytes) -> str:
    """Return the last line of a command's error output. Earlier lines may be warnings that torch prints at import."""
    lines = printed.decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("error: ") if lines else ""
