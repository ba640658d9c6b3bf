"""An HTTP proxy that opens tunnels: it knows the hosts of a test by name, and keeps what it was asked for."""

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
    """Its port on loopback, and the servers (``host:port``) that tunnels were opened to, with the headers of each."""

    port: int
    asked: list[tuple[str, Message]] = field(default_factory=list)

    @property
    def servers(self) -> set[str]:
        return {server for server, _ in self.asked}


@contextmanager
def proxied(ports: Mapping[str, int], tls: ssl.SSLContext | None = None) -> Iterator[ConnectProxy]:
    """A proxy that knows the servers ``host:port`` by their ports on loopback, and refuses others with 403."""

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
            """The test looks at what was asked."""

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
    """Carry bytes both ways until one side has no more."""
    other = {client: server, server: client}
    while True:
        # What TLS has decrypted already wakes no select.
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
