"""Write to a connection without ever blocking the sender, even if the peer reads nothing.

A stopped process reads nothing, and the buffers of the sockets are full after a few megabytes. The sender may hold a
lock that messages to other peers need.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections import deque


class SendQueue:
    """Writes bytes in the order of the calls. Any thread may call :meth:`write`.

    If the connection ends, the bytes that are still queued are dropped.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._emptied = threading.Condition(self._lock)
        self._queued: deque[memoryview] = deque()  # the first one is being written by the thread

    def write(self, data: bytes) -> None:
        """Write the bytes without blocking. A thread writes the bytes that the kernel does not accept now.

        Raises OSError if the kernel reports that the connection has ended.
        """
        with self._lock:
            left = memoryview(data)
            if not self._queued:
                left = left[self._accepted(left) :]
            if not left:
                return
            self._queued.append(left)
            if len(self._queued) == 1:
                threading.Thread(target=self._write_queued, name="send-queue", daemon=True).start()

    def flush(self, timeout_seconds: float) -> bool:
        """Block until the kernel has accepted all bytes, or until the timeout. Return whether the queue is empty."""
        with self._lock:
            return self._emptied.wait_for(lambda: not self._queued, timeout_seconds)

    def _accepted(self, data: memoryview) -> int:
        try:
            return self._connection.send(data, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0

    def _write_queued(self) -> None:
        while True:
            data = self._queued[0]
            try:
                self._connection.sendall(data)
            except OSError:
                # A part of a message may have been written, so no other message can follow. The receiving thread
                # notices the end.
                with contextlib.suppress(OSError):
                    self._connection.shutdown(socket.SHUT_RDWR)
                with self._lock:
                    self._queued.clear()
                    self._emptied.notify_all()
                return
            with self._lock:
                self._queued.popleft()
                if not self._queued:
                    self._emptied.notify_all()
                    return
