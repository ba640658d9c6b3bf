"""Every command that asks a cluster, with everything that can be wrong on the way there: a sentence and a code."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.manifests import manifest
from tests.unit.collectorfleet.cli import played_api
from tests.unit.collectorfleet.cli.played_api import CONTEXT, NAME, NAMESPACE, Answer, ApiServer, Request

from collectorfleet.cli.exit_codes import ExitCode
from collectorfleet.cli.main import main
from collectorfleet.client import AccessDenied, ClusterError, ClusterUnavailable, Fleets, connect
from collectorfleet.client.connection import CheckedClient


@dataclass(frozen=True)
class Fault:
    """What the server does with each request, how each command ends, and what its sentence says."""

    answer: Answer
    code: ExitCode
    sentence: str


LOGIN = b"<html><form>Log in</form></html>"
FAULTS = {
    "CRD not installed": Fault(
        played_api.send(404, b"404 page not found\n", "text/plain"),
        ExitCode.UNAVAILABLE,
        f"context {CONTEXT} (http://127.0.0.1:{{port}}) does not have the CRD of CollectorFleets; choose another "
        "context, or install",
    ),
    "CRD not installed, said as Status": Fault(
        played_api.refuse(404, "NotFound", "the server could not find the requested resource"),
        ExitCode.UNAVAILABLE,
        "does not have the CRD of CollectorFleets",
    ),
    "no such fleet": Fault(
        played_api.refuse(404, "NotFound", "", name=NAME, kind="collectorfleets"),
        ExitCode.FAILED,
        f"no fleet {NAME} in namespace {NAMESPACE} of context {CONTEXT}",
    ),
    "no rights": Fault(
        played_api.refuse(403, "Forbidden", 'collectorfleets is forbidden: User "jane" cannot list'),
        ExitCode.DENIED,
        'User "jane" cannot list',
    ),
    "expired token": Fault(
        played_api.refuse(401, "Unauthorized", "Unauthorized"), ExitCode.DENIED, f"context {CONTEXT} (http"
    ),
    "invalid": Fault(played_api.refuse(422, "Invalid", "spec.x: wrong"), ExitCode.USER, "spec.x: wrong"),
    "conflict": Fault(played_api.refuse(409, "Conflict", "changed\nmeanwhile"), ExitCode.FAILED, "changed meanwhile"),
    "server error": Fault(
        played_api.refuse(500, "InternalError", "etcd is full"), ExitCode.UNAVAILABLE, "etcd is full"
    ),
    "gateway without server": Fault(played_api.send(502, LOGIN, "text/html"), ExitCode.UNAVAILABLE, "Bad Gateway"),
    "redirect to a login page": Fault(
        played_api.send(302, b"", "text/html", Location="/login"), ExitCode.UNAVAILABLE, "HTTP 302"
    ),
    "login page": Fault(
        played_api.send(200, LOGIN, "text/html; charset=utf-8"), ExitCode.UNAVAILABLE, "text/html instead of"
    ),
    "page without a type": Fault(
        played_api.send(200, LOGIN, ""), ExitCode.UNAVAILABLE, "is not a Kubernetes API server"
    ),
    "no JSON": Fault(played_api.send(200, LOGIN, "application/json"), ExitCode.UNAVAILABLE, CONTEXT),
    "binary": Fault(played_api.send(200, b"\xff\x00", "application/json"), ExitCode.UNAVAILABLE, CONTEXT),
    "JSON of something else": Fault(played_api.send(200, b'["a"]', "application/json"), ExitCode.UNAVAILABLE, CONTEXT),
    "empty object": Fault(played_api.send(200, b"{}", "application/json"), ExitCode.UNAVAILABLE, CONTEXT),
    "closed connection": Fault(
        played_api.close, ExitCode.UNAVAILABLE, f"no answer from the cluster of context {CONTEXT}"
    ),
    "half an answer": Fault(played_api.break_off, ExitCode.UNAVAILABLE, "the connection broke off"),
    "slow server": Fault(played_api.hang, ExitCode.UNAVAILABLE, "it did not answer in time"),
}
COMMANDS: dict[str, list[str]] = {
    "status": ["status", NAME],
    "status of all": ["status", "-A", "-l", "team=a", "-o", "wide"],
    "status -w": ["status", "--watch"],
    "top": ["top", "--once"],
    "logs": ["logs", NAME],
    "logs -f": ["logs", NAME, "-f"],
    "report": ["report", NAME],
    "submit": ["submit", "folder"],
    "stop": ["stop", NAME],
    "resume": ["resume", NAME],
}


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with played_api.served() as made:
        yield made


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: ApiServer) -> Path:
    """A folder with code and a kubeconfig, in which the command is given."""
    server.answer, server.fleet = Request.serve, played_api.FLEET
    server.requests.clear()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/fleet.yaml").write_text(json.dumps(manifest(name=NAME)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", played_api.written(tmp_path, played_api.kubeconfig(server.url)))
    return tmp_path


@pytest.fixture
def impatient(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits 30 s for a server that is slow; a request without a timeout keeps none."""
    send = CheckedClient.call_api

    def hurried(self: CheckedClient, *words: Any, **options: Any) -> Any:
        return send(self, *words, **{**options, "_request_timeout": options["_request_timeout"] and 0.1})

    if "slow server" in request.node.name:
        monkeypatch.setattr(CheckedClient, "call_api", hurried)


@pytest.fixture
def said(capfd: pytest.CaptureFixture[str]) -> Iterator[Callable[[], tuple[str, str]]]:
    """What was printed; also by loggers that nobody configured."""
    handlers = logging.root.handlers[:]
    logging.root.handlers.clear()
    yield lambda: tuple(capfd.readouterr())
    logging.root.handlers[:] = handlers


Said = Callable[[], tuple[str, str]]


def one_sentence(err: str) -> str:
    assert err.startswith("error: "), err
    assert err.endswith("\n")
    assert len(err.splitlines()) == 1, err
    assert "Traceback" not in err
    assert "secret-token" not in err
    return err


# Without a fault, a watch has no end.
@pytest.mark.parametrize("command", [command for command in COMMANDS if command != "status -w"])
def test_without_a_fault_it_does_its_work(command: str, said: Said) -> None:
    code = main(COMMANDS[command])
    out, err = said()
    if command == "report":
        assert (code, err) == (
            ExitCode.FAILED,
            f"error: fleet {NAME}: its driver has not reported yet; run `status {NAME}` to see its state\n",
        )
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
    with socket.create_server(("127.0.0.1", 0)) as bound:
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


def test_a_driver_whose_pod_is_gone_is_not_taken_for_a_fleet(server: ApiServer, said: Said) -> None:
    gone = played_api.refuse(404, "NotFound", 'pods "driver-1" not found', name="driver-1", kind="pods")
    server.answer = lambda request: (gone if "/log" in request.path else Request.serve)(request)
    assert main(["logs", NAME]) == ExitCode.FAILED
    assert 'pods "driver-1" not found' in one_sentence(said()[1])


def test_a_fleet_of_another_version_is_one_sentence(server: ApiServer, said: Said) -> None:
    server.fleet = {"kind": "CollectorFleet", "metadata": {"name": NAME}, "spec": ["other"]}
    assert main(["status", NAME]) == ExitCode.FAILED
    assert "cannot be read; use a client of the version" in one_sentence(said()[1])


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


def config(**changes: Any) -> str:
    return json.dumps({**played_api.kubeconfig("http://127.0.0.1:1"), **changes})


KUBECONFIGS: dict[str, tuple[bytes | str | None, str]] = {
    "missing": (None, "the file does not exist"),
    "empty": ("", "is empty"),
    "plain text": ("token secret-token", "it is not a valid kubeconfig"),
    "half YAML": (config()[:90], "it is not a valid kubeconfig"),
    "binary": (b"\x00\xff\xfe secret-token", "it is not a valid kubeconfig"),
    "a list": ("[secret-token]", "it is not a valid kubeconfig"),
    "without contexts": ("apiVersion: v1", ""),
    "without a current context": (json.dumps({**json.loads(config()), "current-context": None}), ""),
    "with an unknown current context": (config(**{"current-context": "other"}), "other"),
    "with an odd user": (config(users=[{"name": "u", "token": "secret-token"}]), ""),
    "with text for users": (config(users="secret-token"), ""),
    "with a plugin that is not installed": (
        config(users=[{"name": "u", "user": {"exec": {"command": "no-such-login", "apiVersion": "v1"}}}]),
        "no-such-login",
    ),
    "with a server without a scheme": (json.dumps(played_api.kubeconfig("lab:1")), "write https://lab:1"),
    "with a certificate that is none": (
        json.dumps(played_api.kubeconfig("https://127.0.0.1:1", **{"client-certificate-data": "abc"})),
        "it is not a valid kubeconfig",
    ),
}


@pytest.mark.parametrize("command", ["status", "submit"])
@pytest.mark.parametrize("kind", KUBECONFIGS)
def test_a_kubeconfig_that_is_none_is_named(command: str, kind: str, folder: Path, said: Said) -> None:
    content, sentence = KUBECONFIGS[kind]
    file = folder / "odd"
    if content is not None:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert main([*COMMANDS[command], "--kubeconfig", str(file)]) == ExitCode.USER
    out, err = said()
    assert out == ""
    assert f"error: cannot connect to a cluster: kubeconfig {file}: " in one_sentence(err)
    assert sentence in err


def test_a_context_can_be_named_where_none_is_current(folder: Path, server: ApiServer, said: Said) -> None:
    content = played_api.kubeconfig(server.url)
    del content["current-context"]
    file = played_api.written(folder, content)
    assert main(["top", "--once", "--kubeconfig", file, "--context", CONTEXT]) == ExitCode.DONE
    assert main(["top", "--once", "--kubeconfig", file, "--context", "other"]) == ExitCode.USER
    assert "other" in one_sentence(said()[1])


def test_a_pod_without_its_account_is_one_sentence(monkeypatch: pytest.MonkeyPatch, said: Said) -> None:
    monkeypatch.delenv("KUBECONFIG")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "1")
    assert main(["top", "--once"]) == ExitCode.USER
    assert "the service account of this pod" in one_sentence(said()[1])
