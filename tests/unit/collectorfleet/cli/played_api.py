"""An API server that is played on loopback: one fleet, what belongs to it, and what goes wrong on the way to it."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import yaml
from tests.cluster.binaries import ROOT

FLEET: Final[dict[str, Any]] = json.loads((ROOT / "tests/data/fleets/running.json").read_text())["fleet"]
NAME: Final = FLEET["metadata"]["name"]
NAMESPACE: Final = FLEET["metadata"]["namespace"]
CONTEXT: Final = "played"
NAMESPACES: Final = ("default", "default-2", NAMESPACE)
DEEP: Final = "a value that is nested 3,000 levels deep"  # in what the server sends
LOG: Final = b"(c0 pid=7) hello\nstarted\n"


class Request(BaseHTTPRequestHandler):
    """One request; a fault answers it in place of :meth:`serve`."""

    server: ApiServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.requests.append(f"{self.command} {self.path}")
        self.server.answer(self)

    def do_POST(self) -> None:
        self.do_GET()

    def do_PATCH(self) -> None:
        self.server.bodies.append(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        self.do_GET()

    def do_DELETE(self) -> None:
        self.do_PATCH()

    def serve(self) -> None:
        """Answer as an API server does."""
        path, _, query = self.path.partition("?")
        if path.endswith("/log"):
            self.send(200, LOG, "text/plain")
        elif path.endswith("/events"):
            self.send_json({"kind": "EventList", "apiVersion": "v1", "items": []})
        elif "/configmaps/" in path and self.command == "GET":
            self.send_json(not_found("configmaps", path.rpartition("/")[2]), 404)
        elif "/configmaps/" in path:
            self.send_json({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "code"}})
        elif path.endswith("/namespaces"):
            self.send_json({"kind": "NamespaceList", "items": [{"metadata": {"name": one}} for one in NAMESPACES]})
        elif path.endswith("/collectorfleets") and "watch=true" in query:
            self.stream()
        elif path.endswith("/collectorfleets"):
            version = {"resourceVersion": str(len(self.server.events))}
            items = [self.server.fleet] if self.server.fleet else []
            self.send_json({"kind": "CollectorFleetList", "metadata": version, "items": items})
        elif path.endswith("/scale"):
            self.send_json({"kind": "Scale"})
        else:
            self.send_json(self.server.fleet)

    def stream(self) -> None:
        """Send the events of a watch that are there, and end it."""
        events, self.server.events = self.server.events, []
        body = b"".join(encoded(event) + b"\n" for event in events)
        self.send(200, body, "application/json")
        if not events:
            self.server.watched_in_vain.set()
            self.server.released.wait(60)

    def send_json(self, content: object, status: int = 200) -> None:
        self.send(status, encoded(content), "application/json")

    def send(self, status: int, body: bytes, kind: str, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content_Type": kind, "Content_Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def encoded(content: object) -> bytes:
    """Return JSON text. In place of ``DEEP``, it has a value that Python's encoder does not write."""
    return json.dumps(content).replace(json.dumps(DEEP), '{"a":' * 3000 + "1" + "}" * 3000).encode()


Answer = Callable[[Request], None]


class ApiServer(ThreadingHTTPServer):
    """Its ``answer`` may be changed between requests; ``released`` ends what :func:`hang` holds."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Request)
        self.fleet: Mapping[str, Any] | None = FLEET
        self.events: list[dict[str, Any]] = []  # of the next watch
        self.watched_in_vain = threading.Event()
        self.answer: Answer = Request.serve
        self.requests: list[str] = []
        self.bodies: list[bytes] = []  # of the changes
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_: object) -> None:
        """A client that goes away in the middle is what some tests do."""


@contextmanager
def served() -> Iterator[ApiServer]:
    with ApiServer() as server:
        thread = threading.Thread(target=functools.partial(server.serve_forever, poll_interval=0.02))
        thread.start()
        try:
            yield server
        finally:
            server.released.set()
            server.shutdown()
            thread.join()


def kubeconfig(url: str, **user: object) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": CONTEXT,
        "contexts": [{"name": CONTEXT, "context": {"cluster": "c", "user": "u", "namespace": NAMESPACE}}],
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": user or {"token": "secret-token"}}],
    }


def written(folder: Path, content: Mapping[str, Any]) -> str:
    file = folder / "kubeconfig"
    file.write_text(yaml.safe_dump(content))
    return str(file)


def status(code: int, reason: str, message: str, **details: str) -> dict[str, Any]:
    """What an API server sends with an error."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": reason,
        "message": message,
        "details": details,
        "code": code,
    }


def not_found(kind: str, name: str) -> dict[str, Any]:
    return status(404, "NotFound", f'{kind} "{name}" not found', name=name, kind=kind)


def refuse(code: int, reason: str, message: str, **details: str) -> Answer:
    return lambda request: request.send_json(status(code, reason, message, **details), code)


def send(code: int, body: bytes, kind: str, **headers: str) -> Answer:
    return lambda request: request.send(code, body, kind, **headers)


def hang(request: Request) -> None:
    request.server.released.wait(60)


def close(request: Request) -> None:
    """End the connection without an answer."""
    request.close_connection = True


def break_off(request: Request) -> None:
    """Announce more than is sent."""
    request.send(200, b'{"kind": ', "application/json", Content_Length="4000")
    request.close_connection = True
