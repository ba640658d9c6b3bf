"""Every command that asks a cluster, with everything that can be wrong with its server: a sentence and a code."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.manifests import manifest
from tests.unit.collectorfleet.cli import played_api
from tests.unit.collectorfleet.cli.faults import COMMANDS, FAULTS, Said, one_sentence
from tests.unit.collectorfleet.cli.played_api import CONTEXT, NAME, ApiServer, Request

from collectorfleet.cli.exit_codes import ExitCode
from collectorfleet.cli.main import main
from collectorfleet.client import AccessDenied, ClusterError, ClusterUnavailable, Fleets, connect

pytestmark = pytest.mark.usefixtures("folder")


# Without a fault, a watch has no end, and an export needs a node that runs its pod.
@pytest.mark.parametrize("command", [command for command in COMMANDS if command not in ("status -w", "export")])
def test_without_a_fault_it_does_its_work(command: str, said: Said) -> None:
    code = main(COMMANDS[command])
    out, err = said()
    if command == "report":
        assert code == ExitCode.FAILED
        status = f"`collectorfleet status {NAME}`"
        assert err == f"error: fleet {NAME}: its driver has not reported yet; run {status} to see its state\n"
    else:
        assert (code, err) == (ExitCode.DONE, "")
        assert out


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_fault_is_one_sentence_and_a_code(command: str, fault: str, server: ApiServer, said: Said) -> None:
    expected = FAULTS[fault]
    server.answer = expected.answer
    assert main(COMMANDS[command]) == expected.code
    out, err = said()
    assert out == ""
    assert expected.sentence.format(port=server.server_port) in one_sentence(err)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_server_that_refuses_connections_is_one_sentence(command: str, folder: Path, said: Said) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # it refuses, because it does not listen
        port = bound.getsockname()[1]
        file = played_api.written(folder, played_api.kubeconfig(f"http://127.0.0.1:{port}"))
        assert main([*COMMANDS[command], "--kubeconfig", file]) == ExitCode.UNAVAILABLE
    out, err = said()
    assert out == ""
    assert f"no answer from the cluster of context {CONTEXT} (http://127.0.0.1:{port}): " in one_sentence(err)
    assert "refused" in err


@pytest.mark.parametrize(
    ("command", "at"), [("status", "/events"), ("logs", "/log"), ("report", "/configmaps/")], ids=str
)
@pytest.mark.parametrize("fault", ["no rights", "server error", "login page", "closed connection", "half an answer"])
def test_a_fault_of_a_later_request_is_one_sentence(
    command: str, at: str, fault: str, server: ApiServer, said: Said
) -> None:
    expected = FAULTS[fault]
    server.answer = lambda request: (expected.answer if at in request.path else Request.serve)(request)
    assert main(COMMANDS[command]) == expected.code
    out, err = said()
    assert out == ""
    one_sentence(err)


def test_a_log_that_breaks_off_is_said_after_what_came(server: ApiServer, said: Said) -> None:
    def break_off(request: Request) -> None:
        request.send_response(200)
        request.send_header("Content-Type", "text/plain")
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()
        request.wfile.write(b"8\r\nstarted\n\r\n40\r\nhalf")
        request.close_connection = True

    server.answer = lambda request: (break_off if "/log" in request.path else Request.serve)(request)
    assert main(["logs", "-f", NAME]) == ExitCode.UNAVAILABLE
    out, err = said()
    assert out == "driver | started\n"
    one_sentence(err)


@pytest.mark.parametrize("code", [200, 204])
@pytest.mark.parametrize("words", [["logs", NAME], ["logs", NAME, "-f"], ["logs", NAME, "--of", "c0"]], ids=" ".join)
def test_a_driver_without_a_log_is_a_note_with_the_reason(
    words: list[str], code: int, server: ApiServer, said: Said
) -> None:
    """The API server sends an empty answer without a type for a pod that no node has."""

    def empty(request: Request) -> None:
        request.send_response(code)
        if code == 200:
            request.send_header("Content-Length", "0")
        request.end_headers()

    server.answer = lambda request: (empty if "/log" in request.path else Request.serve)(request)
    assert main(words) == ExitCode.DONE
    out, err = said()
    status = played_api.FLEET["status"]
    [ready] = [one for one in status["conditions"] if one["type"] == "Ready"]
    assert out == ""
    assert err == (
        f"note: driver pod {status['driver']['pod']} of fleet {NAME} has printed nothing: "
        f"Ready is {ready['status']}, {ready['reason']}: {ready['message']}\n"
    )


def test_a_quiet_time_of_a_driver_is_no_note(server: ApiServer, said: Said) -> None:
    quiet = played_api.send(200, b"", "text/plain")
    server.answer = lambda request: (quiet if "/log" in request.path else Request.serve)(request)
    assert main(["logs", NAME, "--since", "60"]) == ExitCode.DONE
    assert said() == ("", "")


def test_the_log_is_that_of_the_container_with_the_driver(server: ApiServer, said: Said) -> None:
    assert main(["logs", NAME]) == ExitCode.DONE
    assert "container=driver" in server.requests[-1]
    assert said()[1] == ""


def test_a_driver_whose_pod_is_gone_is_not_taken_for_a_fleet(server: ApiServer, said: Said) -> None:
    gone = played_api.refuse(404, "NotFound", 'pods "driver-1" not found', name="driver-1", kind="pods")
    server.answer = lambda request: (gone if "/log" in request.path else Request.serve)(request)
    assert main(["logs", NAME]) == ExitCode.FAILED
    assert 'pods "driver-1" not found' in one_sentence(said()[1])


def test_a_fleet_of_another_version_is_one_sentence(server: ApiServer, said: Said) -> None:
    server.fleet = {"kind": "CollectorFleet", "metadata": {"name": NAME}, "spec": ["other"]}
    assert main(["status", NAME]) == ExitCode.FAILED
    error = one_sentence(said()[1])
    assert "cannot be read: " in error
    assert "; use a client whose version" in error


def test_a_busy_server_is_asked_again_when_it_says(server: ApiServer, said: Said) -> None:
    def busy(request: Request) -> None:
        server.answer = Request.serve
        request.send(429, b"", "text/plain", Retry_After="0")

    server.answer = busy
    assert main(["top", "--once"]) == ExitCode.DONE
    assert said()[1] == ""
    assert len(server.requests) == 2


METHODS: dict[str, Callable[[Fleets], object]] = {
    "get": lambda fleets: fleets.get(NAME),
    "list": lambda fleets: fleets.list(),
    "events": lambda fleets: fleets.events(NAME),
    "timeline": lambda fleets: fleets.timeline(NAME),
    "watch": lambda fleets: next(fleets.watch(NAME)),
    "scale": lambda fleets: fleets.scale(NAME, 3),
    "stop": lambda fleets: fleets.stop(NAME),
    "resume": lambda fleets: fleets.resume(NAME),
    "delete": lambda fleets: fleets.delete(NAME),
    "logs": lambda fleets: list(fleets.logs(NAME)),
    "submit": lambda fleets: fleets.submit(manifest(name=NAME)),
}


NOT_OF_DELETE = {"JSON of something else", "empty object"}  # an API server answers a deletion with any object


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("fault", FAULTS)
def test_the_client_raises_what_it_documents(fault: str, server: ApiServer) -> None:
    server.answer = FAULTS[fault].answer
    expected = {ExitCode.DENIED: AccessDenied, ExitCode.UNAVAILABLE: ClusterUnavailable}
    connection = connect()
    with connection.api:
        for name, method in METHODS.items():
            if name == "delete" and fault in NOT_OF_DELETE:
                continue
            with pytest.raises(ClusterError) as raised:
                method(Fleets(connection))
            assert type(raised.value) is expected.get(FAULTS[fault].code, type(raised.value)), name
