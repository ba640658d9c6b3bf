"""Serves repositories by git's own smart HTTP: Flux takes no folder, and both tools then clone one URL."""

from __future__ import annotations

import base64
import contextlib
import os
import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.private_authority import with_tls

_LINE_END = b"\r\n"


@contextlib.contextmanager
def served(
    folder: Path, user: str | None = None, address: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> Iterator[str]:
    """The URL below which every bare repository in ``folder`` can be read, by all or by one ``user:password``."""
    basic = f"Basic {base64.b64encode(user.encode()).decode()}" if user else None
    handler = type("Handler", (_Handler,), {"folder": folder, "authorization": basic})
    server = ThreadingHTTPServer((address, 0), handler)
    if tls is not None:
        with_tls(server, tls)
    thread = threading.Thread(target=server.serve_forever, name="git-http", daemon=True)
    thread.start()
    try:
        yield f"{'https' if tls else 'http'}://{address}:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    """Hands each request to ``git http-backend`` as CGI has it, and its answer back."""

    folder: Path
    authorization: str | None

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self._body())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """What was asked is in the logs of those who ask."""

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        chunks = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def _answer(self, body: bytes) -> None:
        if self.authorization is not None and self.headers.get("Authorization") != self.authorization:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        path, _, query = self.path.partition("?")
        env = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        # It ends with 1 when it refuses a commit, too: what it says of that is its answer.
        done = subprocess.run(["git", "http-backend"], input=body, env=env, capture_output=True, check=False)
        head, _, content = done.stdout.partition(2 * _LINE_END)
        fields = dict(line.decode().split(": ", 1) for line in head.split(_LINE_END))
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in (fields | {"Content-Length": str(len(content))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
