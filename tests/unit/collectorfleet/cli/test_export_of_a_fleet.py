"""``collectorfleet export NAME`` and its pod. ``tests/e2e/test_evaluation.py`` copies weights on a cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from tests.unit.collectorfleet.cli import played_api
from tests.unit.collectorfleet.cli.faults import Said
from tests.unit.collectorfleet.cli.played_api import FLEET, NAME, ApiServer, Request
from websocket import WebSocketException

from collectorfleet.cli.exit_codes import ExitCode
from collectorfleet.cli.main import main
from collectorfleet.client import export

pytestmark = pytest.mark.usefixtures("folder")

CLAIM = "runs"
DRIVER = "driver-1"
NAME_ANOTHER = "; name a fleet, or the folder of `collectorfleet run --checkpoint`\n"
POD = f"{NAME}-export-x1"
KEPT = {**FLEET, "spec": {**FLEET["spec"], "driver": {**FLEET["spec"]["driver"], "checkpoint": {"claimName": CLAIM}}}}


class Pods:
    """Answers about the pod of an export with ``states``, one after the other, and keeps what was asked for."""

    def __init__(self, *states: dict[str, Any], modes: tuple[str, ...] = ("ReadWriteMany",)) -> None:
        self.states, self.modes = list(states), modes
        self.created: dict[str, Any] = {}
        self.deleted: list[str] = []

    def answer(self, request: Request) -> None:
        path = request.path.partition("?")[0]
        if path.endswith(f"/persistentvolumeclaims/{CLAIM}"):
            request.send_json({"kind": "PersistentVolumeClaim", "spec": {"accessModes": self.modes}})
        elif path.endswith("/exec"):
            played_api.refuse(403, "Forbidden", "pods/exec is forbidden")(request)
        elif path.endswith(f"/pods/{POD}") and request.command == "DELETE":
            self.deleted.append(POD)
            request.send_json({"kind": "Pod"})
        elif path.endswith(f"/pods/{POD}"):
            state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
            request.send_json({"kind": "Pod", "metadata": {"name": POD}, "status": state})
        elif "/pods/" in path:
            request.send_json(
                {
                    "kind": "Pod",
                    "spec": {"nodeName": "node2", "containers": [{"name": "driver"}]},
                    "status": {"phase": "Running"},
                }
            )
        else:
            request.serve()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "_LOOK_SECONDS", 0.0)


def waiting(reason: str, message: str | None = None) -> dict[str, Any]:
    state = {"name": "export", "state": {"waiting": {"reason": reason, "message": message}}}
    return {
        "phase": "Pending",
        "containerStatuses": [{"image": "", "imageID": "", "ready": False, "restartCount": 0, **state}],
    }


def serve(server: ApiServer, pods: Pods) -> None:
    server.fleet = KEPT

    def answer(request: Request) -> None:
        if request.command == "POST":
            body = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
            pods.created = body
            request.send_json({**body, "metadata": {**body["metadata"], "name": POD}}, 201)
        else:
            pods.answer(request)

    server.answer = answer


def export_weights() -> int:
    return main(["export", NAME, "--best", "-o", "weights.pt"])


def test_a_name_that_is_neither_a_fleet_nor_a_folder_is_said_to_be_neither(
    server: ApiServer, said: Said, folder: Path
) -> None:
    words = ["export", "typo", "-o", "weights.pt"]
    server.answer = played_api.refuse(404, "NotFound", "", name="typo", kind="collectorfleets")
    assert main(words) == ExitCode.FAILED
    assert said()[1].endswith(f"; no folder typo exists{NAME_ANOTHER}")
    server.answer = played_api.close
    assert main(words) == ExitCode.UNAVAILABLE
    assert said()[1].endswith(f"; no folder typo exists{NAME_ANOTHER}")
    assert main([*words, "--kubeconfig", "missing"]) == ExitCode.USER
    assert said()[1].endswith(f"; no folder typo exists{NAME_ANOTHER}")


def test_a_folder_without_a_run_does_not_hide_the_fleet_of_its_name(
    server: ApiServer, said: Said, folder: Path
) -> None:
    """``init NAME`` makes such a folder, and ``submit NAME`` such a fleet."""
    assert main(["init", NAME]) == 0
    said()
    pods = Pods({"phase": "Failed", "reason": "Evicted"})
    serve(server, pods)
    assert export_weights() == ExitCode.FAILED
    assert said()[1] == f"error: pod {POD}: Evicted\n"
    assert pods.created


def test_a_folder_without_a_run_and_a_missing_fleet_are_both_named(server: ApiServer, said: Said, folder: Path) -> None:
    server.answer = played_api.refuse(404, "NotFound", "", name="typo", kind="collectorfleets")
    Path("typo").mkdir()
    assert main(["export", "typo", "-o", "weights.pt"]) == ExitCode.FAILED
    err = said()[1]
    assert err.startswith("error: no fleet typo in namespace ")
    assert err.endswith(f"; folder typo has no checkpoint and no timeline.json{NAME_ANOTHER}")


def test_why_its_pod_waits_is_said_once_and_a_pod_that_fails_is_deleted(
    server: ApiServer, said: Said, folder: Path
) -> None:
    full = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes"}]}
    pulling = waiting("ErrImagePull", "no such image")
    failed = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory"}
    pods = Pods(full, full, pulling, pulling, failed)
    serve(server, pods)
    assert export_weights() == ExitCode.FAILED
    out, err = said()
    assert out == ""
    assert err.splitlines() == [
        f"pod {POD}: 0/3 nodes",
        f"pod {POD}: ErrImagePull: no such image",
        f"error: pod {POD}: The node was low on memory",
    ]
    assert pods.deleted == [POD]
    assert list(folder.glob("*weights*")) == []


def test_a_pod_that_does_not_start_is_given_up_with_its_last_state(
    server: ApiServer, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "_START_SECONDS", 0.0)
    pods = Pods(waiting("ImagePullBackOff"))
    serve(server, pods)
    assert export_weights() == ExitCode.FAILED
    assert said()[1] == f"error: pod {POD} has not started within 0 s: ImagePullBackOff\n"
    assert pods.deleted == [POD]


def test_a_missing_right_to_run_commands_is_said_and_the_pod_is_deleted(server: ApiServer, said: Said) -> None:
    pods = Pods({"phase": "Running"})
    serve(server, pods)
    assert export_weights() == ExitCode.DENIED
    assert "pods/exec" in said()[1]
    assert pods.deleted == [POD]


@pytest.mark.parametrize(
    "error",
    [ConnectionResetError(104, "Connection reset by peer"), TimeoutError("timed out"), WebSocketException("lost")],
    ids=repr,
)
def test_a_connection_that_breaks_off_is_not_a_problem_of_the_file(
    error: Exception, server: ApiServer, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Mock(run_forever=Mock(side_effect=error))
    monkeypatch.setattr(export, "stream", lambda *_, **__: opened)
    pods = Pods({"phase": "Running"})
    serve(server, pods)
    assert export_weights() == ExitCode.UNAVAILABLE
    assert said()[1] == f"error: pod {POD}: the connection broke off ({type(error).__name__})\n"
    assert opened.close.called
    assert pods.deleted == [POD]


def test_a_pod_that_cannot_be_deleted_is_named_and_the_first_error_stays(server: ApiServer, said: Said) -> None:
    pods = Pods({"phase": "Failed", "message": "The node was low on memory"})
    serve(server, pods)
    answer = server.answer
    refuse = played_api.refuse(403, "Forbidden", "pods is forbidden")
    server.answer = lambda request: (refuse if request.command == "DELETE" else answer)(request)
    assert export_weights() == ExitCode.FAILED
    left, error = said()[1].splitlines()
    assert left.startswith(f"pod {POD} was not deleted and ends within an hour: ")
    assert error == f"error: pod {POD}: The node was low on memory"


@pytest.mark.parametrize(("modes", "node"), [(("ReadWriteOnce",), "node2"), (("ReadWriteMany",), None)], ids=str)
def test_only_a_claim_of_one_node_needs_the_node_of_the_driver(
    modes: tuple[str, ...], node: str | None, server: ApiServer
) -> None:
    pods = Pods({"phase": "Failed"}, modes=modes)
    serve(server, pods)
    export_weights()
    assert (f"'{node}'" in str(pods.created["spec"].get("affinity"))) == (node is not None)


def test_a_claim_that_only_the_driver_can_mount_is_refused_with_what_to_do(server: ApiServer, said: Said) -> None:
    pods = Pods(modes=("ReadWriteOncePod",))
    serve(server, pods)
    assert export_weights() == ExitCode.USER
    assert f"claim {CLAIM} is ReadWriteOncePod" in said()[1]
    assert not pods.created
