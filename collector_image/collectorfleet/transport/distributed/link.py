"""A connection between two processes that share a token.

Both processes prove that they have the token before either unpickles data. Each side sends a random number. From both
numbers and the token, each side derives one key for each direction. Every message has a MAC that depends on this key
and on the message's sequence number. The first message of each side proves that this side has the token. A peer without
the token cannot send, change or repeat a message. Messages are not encrypted.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import logging
import secrets
import selectors
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any, Final

from ray import cloudpickle

from collectorfleet.errors import describe
from collectorfleet.transport.distributed.send_queue import SendQueue

log = logging.getLogger("collectorfleet")

Address = tuple[str, int]

# The timeout of the first messages. A peer may send nothing, and the driver may be busy.
GREETING_SECONDS: Final = 10.0
# The pause of a listener that cannot accept a connection.
PAUSE_SECONDS: Final = 1.0
_MAC: Final = hashlib.sha256
_MAC_BYTES: Final = _MAC().digest_size
_NONCE_BYTES: Final = 32
_HEADER: Final = struct.Struct("!Q")
_PROTOCOL: Final = b"collectorfleet link 1"
# A lost machine closes no connection. Keepalive probes detect the loss within 20 s. A peer, such as a stopped process,
# also counts as lost if it reads nothing for this time while messages wait.
_QUIET_SECONDS: Final = 10
_PROBE_SECONDS: Final = 5
_PROBES: Final = 2


class Unauthenticated(OSError):
    """Raised if the peer lacks the token, or if a message was changed in transit."""


class Unreadable(Exception):
    """Raised if a message cannot be unpickled here. ``__cause__`` is the original error. The link stays open."""


class Link:
    """One side of the connection. Any thread may send, and one thread receives."""

    def __init__(self, connection: socket.socket, *, send_key: bytes, receive_key: bytes) -> None:
        """Make the link. ``send_key`` and ``receive_key`` authenticate sent and received messages."""
        self._connection = connection
        self._send_queue = SendQueue(connection)
        self._send_lock = threading.Lock()
        self._send_key, self._receive_key = send_key, receive_key
        self._sent_count = self._received_count = 0
        self.own_host = str(connection.getsockname()[0])  # this machine's address as the other side sees it

    def send_message(self, message: object) -> None:
        """Send a message without waiting for the peer. The receiving thread notices errors of the connection."""
        written = cloudpickle.dumps(message)
        with contextlib.suppress(OSError):
            self.send(written)

    def receive_message(self) -> Any:
        """Block until a message arrives. Raises EOFError or OSError if the connection ends, or Unreadable."""
        written = self.receive()
        try:
            return cloudpickle.loads(written)
        except Exception as error:
            raise Unreadable(f"the message cannot be unpickled here: {describe(error)}") from error

    def send(self, written: bytes) -> None:
        """Send bytes without waiting for the peer. Raises OSError if the connection has ended."""
        with self._send_lock:
            mac = _mac(self._send_key, self._sent_count, written)
            self._sent_count += 1
            self._send_queue.write(_HEADER.pack(len(written)) + mac + written)

    def receive(self, most: int | None = None) -> bytes:
        """Return the bytes of the next message.

        Raises Unauthenticated if the message has more than ``most`` bytes or a wrong MAC.
        """
        (size,) = _HEADER.unpack(_read(self._connection, _HEADER.size))
        if most is not None and size > most:
            raise Unauthenticated(f"a message has {size} bytes; at most {most} are allowed")
        mac = _read(self._connection, _MAC_BYTES)
        written = _read(self._connection, size)
        if not hmac.compare_digest(mac, _mac(self._receive_key, self._received_count, written)):
            raise Unauthenticated("the other side has another token")
        self._received_count += 1
        return written

    def close(self, *, flush_seconds: float = 0.0) -> None:
        """Close the connection for both sides. This also wakes a thread that receives here.

        Messages that the kernel has not accepted after ``flush_seconds`` are dropped. Blocks for at most this time.
        """
        self._send_queue.flush(flush_seconds)
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()


def dial(address: Address, token: bytes, *, timeout_seconds: float = GREETING_SECONDS) -> Link:
    """Connect to a :class:`Listener`. Raises OSError, or its subclass Unauthenticated if the tokens differ."""
    connection = socket.create_connection(address, timeout_seconds)
    try:
        return _greet(connection, token, driver=False)
    except BaseException:
        connection.close()
        raise


class Listener:
    """Accepts connections at ``address`` from peers that have the token, once :meth:`serve` is called."""

    def __init__(self, address: Address, token: bytes) -> None:
        """Listen at ``address``. Port 0 selects a free port. Raises OSError if it cannot listen."""
        host, _ = address
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server(address, family=family, backlog=128)
        self._socket.setblocking(False)  # so that accept does not block if the peer has left again
        self._token = token
        self._over = threading.Event()
        self._woken, self._wake = socket.socketpair()
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> Address:
        host, port, *_ = self._socket.getsockname()
        return str(host), int(port)

    def serve(self, handle_peer: Callable[[Link, Any], None]) -> None:
        """Call ``handle_peer`` with each peer's link and first message, on a new thread for each peer.

        The link is closed when ``handle_peer`` returns. The listener runs until :meth:`close`. Returns at once.
        """
        self._thread = threading.Thread(target=self._serve, args=(handle_peer,), name="listener", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Accept no more connections. After the call, another listener may use the address. Open connections remain."""
        self._over.set()
        self._wake.close()
        if self._thread is not None:
            self._thread.join()
        self._socket.close()
        self._woken.close()

    def _serve(self, handle_peer: Callable[[Link, Any], None]) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            while not self._over.is_set():
                selector.select()
                try:
                    connection, _ = self._socket.accept()
                except (BlockingIOError, ConnectionAbortedError):
                    continue  # the peer closed at once, or the listener is closing
                except OSError as error:
                    # The usual cause is that no file descriptor is left. The connection stays queued, so an immediate
                    # retry would fail.
                    log.warning("port %d accepts no connection for %g s: %s", self.address[1], PAUSE_SECONDS, error)
                    self._over.wait(PAUSE_SECONDS)
                    continue
                threading.Thread(target=self._accept, args=(connection, handle_peer), daemon=True).start()

    def _accept(self, connection: socket.socket, handle_peer: Callable[[Link, Any], None]) -> None:
        with connection:
            try:
                connection.settimeout(GREETING_SECONDS)
                link = _greet(connection, self._token, driver=True)
                # Each peer sends its name at once. Without a timeout, a peer that hangs would occupy a thread and a
                # file descriptor forever.
                connection.settimeout(GREETING_SECONDS)
                said = link.receive_message()
                connection.settimeout(None)
            except (OSError, EOFError, Unreadable):
                return  # a peer without the token, or a process that died or hung at once
            handle_peer(link, said)


def _greet(connection: socket.socket, token: bytes, *, driver: bool) -> Link:
    """Authenticate both sides, and return the link. Removes the timeout of ``connection``."""
    _watch(connection)
    own = secrets.token_bytes(_NONCE_BYTES)
    connection.sendall(own)
    other = _read(connection, _NONCE_BYTES)
    session = hmac.digest(token, _PROTOCOL + (own + other if driver else other + own), _MAC)
    of_driver, of_member = (hmac.digest(session, whose, _MAC) for whose in (b"driver", b"member"))
    send_key, receive_key = (of_driver, of_member) if driver else (of_member, of_driver)
    link = Link(connection, send_key=send_key, receive_key=receive_key)
    link.send(b"")
    link.receive(most=0)
    connection.settimeout(None)
    return link


def _watch(connection: socket.socket) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        ("TCP_KEEPIDLE", _QUIET_SECONDS),
        ("TCP_KEEPINTVL", _PROBE_SECONDS),
        ("TCP_KEEPCNT", _PROBES),
        ("TCP_USER_TIMEOUT", 1000 * (_QUIET_SECONDS + _PROBE_SECONDS * _PROBES)),
    ):
        if hasattr(socket, option):  # Linux has all of these options
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


def _mac(key: bytes, number: int, written: bytes) -> bytes:
    return hmac.digest(key, _HEADER.pack(number) + written, _MAC)


def _read(connection: socket.socket, size: int) -> bytes:
    """Return exactly ``size`` bytes. Raises EOFError if the connection ends first."""
    found = bytearray(size)
    left = memoryview(found)
    while left:
        count = connection.recv_into(left)
        if not count:
            raise EOFError("the other side closed the connection")
        left = left[count:]
    return bytes(found)
