"""A connection that hangs: a relay in front of the API server that stops passing on what its clients hear."""

from __future__ import annotations

import socket
import threading
from types import TracebackType


class Relay:
    """Passes on what both sides say. After :meth:`silence` the connections that are open carry nothing more, and
    nobody is told; those that are opened later work.
    """

    def __init__(self, port: int) -> None:
        self._target = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._epoch = 0
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._serve, name="relay", daemon=True)

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def silence(self) -> None:
        self._epoch += 1

    def __enter__(self) -> Relay:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for one in self._open:
            one.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._target)
            self._open += [client, server]
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._pass_on, args=(source, sink, self._epoch), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket, epoch: int) -> None:
        try:
            while data := source.recv(65536):
                if epoch == self._epoch:
                    sink.sendall(data)
            if epoch == self._epoch:
                sink.shutdown(socket.SHUT_WR)
        except OSError:
            return
