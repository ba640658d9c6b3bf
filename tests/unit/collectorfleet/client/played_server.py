"""An API server that keeps what is applied, and refuses what a test says."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from kubernetes import client

from collectorfleet.client import Connection

NAMESPACE = "lab"


class PlayedServer:
    """``objects`` by ``configmaps/NAME``; ``refusals`` are statuses of requests such as ``PATCH configmaps/code``.

    A status of 0 carries the request out and closes the connection without an answer.
    """

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.refusals: dict[str, int] = {}
        self.message = "{name} is refused"
        self.requests: list[str] = []

    def answer(self, method: str, address: str, body: bytes) -> tuple[int, dict[str, Any]]:
        parts = urlsplit(address)
        name = "/".join(parts.path.split("/")[-2:])
        dry_run = "dryRun" in parse_qs(parts.query)
        request = f"{method} {name}" + (" (dry run)" if dry_run else "")
        self.requests.append(request)
        status = self.refusals.get(request, 200)
        if status >= 400:
            return status, {"kind": "Status", "message": self.message.format(name=name)}
        known = name in self.objects
        if method == "PATCH" and not dry_run:
            self.objects[name] = self.objects.get(name, {}) | json.loads(body)
            self.objects[name]["metadata"].setdefault("uid", f"uid of {name}")
        if method == "PATCH":
            return status and (200 if known else 201), self.objects.get(name) or json.loads(body)
        if not known:
            return 404, {"kind": "Status", "message": f"{name} not found"}
        return status, self.objects.pop(name) if method == "DELETE" else self.objects[name]


@contextmanager
def serving(played: PlayedServer) -> Iterator[Connection]:
    """Serve on loopback, and connect to it."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.carry_out()

        def do_PATCH(self) -> None:
            self.carry_out()

        def do_DELETE(self) -> None:
            self.carry_out()

        def carry_out(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, found = played.answer(self.command, self.path, body)
            if not status:
                self.close_connection = True
                return
            content = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        configuration = client.Configuration(host=f"http://127.0.0.1:{server.server_port}")
        configuration.retries = False
        try:
            with client.ApiClient(configuration) as api:
                yield Connection(api, NAMESPACE)
        finally:
            server.shutdown()
            thread.join()
