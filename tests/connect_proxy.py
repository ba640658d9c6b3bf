"""Run an HTTP proxy that opens tunnels to the servers of a test, and records its requests."""

from __future__ import annotations

import select
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.private_authority import with_tls

_CHUNK = 2**16


@dataclass
class ConnectProxy:
    """A running proxy, with its port on loopback.

    ``asked`` has the server (``host:port``) and the headers of each request, also of refused requests.
    """

    port: int
    asked: list[tuple[str, Message]] = field(default_factory=list)

    @property
    def servers(self) -> set[str]:
        """Return the requested servers without duplicates."""
        return {server for server, _ in self.asked}


@contextmanager
def proxied(ports: Mapping[str, int], tls: ssl.SSLContext | None = None) -> Iterator[ConnectProxy]:
    """Run a proxy until the end of the block.

    ``ports`` maps each server ``host:port`` to its port on loopback. The proxy refuses other servers with 403. With
    ``tls``, clients connect to the proxy itself by TLS.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_CONNECT(self) -> None:
            found.asked.append((self.path, self.headers))
            if self.path not in ports:
                self.send_error(403)
                return
            with socket.create_connection(("127.0.0.1", ports[self.path])) as server:
                self.send_response(200)
                self.end_headers()
                _tunnel(self.connection, server)
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base class names it so)
            """Print nothing: tests read the recorded requests."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as proxy:
        if tls is not None:
            with_tls(proxy, tls)
        found = ConnectProxy(proxy.server_port)
        thread = threading.Thread(target=proxy.serve_forever, args=(0.02,), name="connect-proxy")
        thread.start()
        yield found
        proxy.shutdown()
        thread.join()


def _tunnel(client: socket.socket, server: socket.socket) -> None:
    """Forward bytes in both directions until one side closes its connection."""
    other = {client: server, server: client}
    while True:
        # select does not report bytes that TLS has already decrypted.
        buffered = isinstance(client, ssl.SSLSocket) and client.pending()
        readable = [client] if buffered else select.select(list(other), [], [])[0]
        for side in readable:
            try:
                data = side.recv(_CHUNK)
            except OSError:
                return
            if not data:
                return
            other[side].sendall(data)
