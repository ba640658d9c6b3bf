"""One connection between two processes that share a token: both prove that they have it before either unpickles a byte.

Each side sends a random number. Both numbers and the token give a key for each direction. Every message carries a MAC
by that key and its sequence number, and the first message of each side is the proof. A peer without the token can send
nothing here, change no message and repeat none. Messages are not encrypted.
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

log = logging.getLogger("collectorfleet")

Address = tuple[str, int]

# A stranger that says nothing, or a driver that has no time.
GREETING_SECONDS: Final = 10.0
# Of a listener that can let nobody in.
PAUSE_SECONDS: Final = 1.0
_MAC: Final = hashlib.sha256
_MAC_BYTES: Final = _MAC().digest_size
_NONCE_BYTES: Final = 32
_HEADER: Final = struct.Struct("!Q")
_PROTOCOL: Final = b"collectorfleet link 1"
# A machine that vanished closes nothing: it is noticed within 20 s.
_QUIET_SECONDS: Final = 10
_PROBE_SECONDS: Final = 5
_PROBES: Final = 2


class Unauthenticated(OSError):
    """The other side does not have the token, or somebody in between changed what it said."""


class Unreadable(Exception):
    """What the other side said cannot be unpickled here; its cause is why. The connection goes on."""


class Link:
    """One side of the connection. Any thread may speak, one listens."""

    def __init__(self, connection: socket.socket, *, speaks: bytes, hears: bytes) -> None:
        """``speaks`` and ``hears`` are the keys of the two directions."""
        self._connection = connection
        self._speaking = threading.Lock()
        self._speaks, self._hears = speaks, hears
        self._said = self._heard = 0
        self.own_host = str(connection.getsockname()[0])  # the address of this machine that the other side sees

    def send_message(self, message: object) -> None:
        """Returns at once; an end of the connection is for the side that listens to notice."""
        written = cloudpickle.dumps(message)
        with contextlib.suppress(OSError):
            self.send(written)

    def receive_message(self) -> Any:
        """Block until the other side says something. Raises EOFError or OSError at its end, and Unreadable."""
        written = self.receive()
        try:
            return cloudpickle.loads(written)
        except Exception as error:
            raise Unreadable(f"the message cannot be unpickled here: {describe(error)}") from error

    def send(self, written: bytes) -> None:
        with self._speaking:
            mac = _mac(self._speaks, self._said, written)
            self._said += 1
            self._connection.sendall(_HEADER.pack(len(written)) + mac + written)

    def receive(self, most: int | None = None) -> bytes:
        """Bytes that the other side sent, at most ``most``. Raises Unauthenticated for anybody else's."""
        (size,) = _HEADER.unpack(_read(self._connection, _HEADER.size))
        if most is not None and size > most:
            raise Unauthenticated(f"a message has {size} bytes; at most {most} are allowed")
        mac = _read(self._connection, _MAC_BYTES)
        written = _read(self._connection, size)
        if not hmac.compare_digest(mac, _mac(self._hears, self._heard, written)):
            raise Unauthenticated("the other side has another token")
        self._heard += 1
        return written

    def close(self) -> None:
        """End it for both sides; also for a thread that listens here."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()


def dial(address: Address, token: bytes, *, timeout_seconds: float = GREETING_SECONDS) -> Link:
    """Connect to a :class:`Listener`. Raises OSError, which is Unauthenticated where the two have different tokens."""
    connection = socket.create_connection(address, timeout_seconds)
    try:
        return _greet(connection, token, driver=False)
    except BaseException:
        connection.close()
        raise


class Listener:
    """Where the driver is found, at ``address``: once it has :meth:`serve`\\ d, whoever has the token."""

    def __init__(self, address: Address, token: bytes) -> None:
        """Port 0 is any that is free. Raises OSError if it cannot listen there."""
        host, _ = address
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server(address, family=family, backlog=128)
        self._socket.setblocking(False)  # who called may be gone again
        self._token = token
        self._over = threading.Event()
        self._woken, self._wake = socket.socketpair()
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> Address:
        host, port, *_ = self._socket.getsockname()
        return str(host), int(port)

    def serve(self, converse: Callable[[Link, Any], None]) -> None:
        """Call ``converse`` with each that comes and the first that it says, on a thread of its own, until
        :meth:`close`; the link ends with the call. Returns at once.
        """
        self._thread = threading.Thread(target=self._serve, args=(converse,), name="listener", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Let nobody in any more; others may listen here once it returns. Connections that there are stay."""
        self._over.set()
        self._wake.close()
        if self._thread is not None:
            self._thread.join()
        self._socket.close()
        self._woken.close()

    def _serve(self, converse: Callable[[Link, Any], None]) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            while not self._over.is_set():
                selector.select()
                try:
                    connection, _ = self._socket.accept()
                except (BlockingIOError, ConnectionAbortedError):
                    continue  # it went away at once, or this is the end
                except OSError as error:
                    # No file is left, most often. Whoever waits goes on waiting, so to look again at once is no use.
                    log.warning("port %d accepts no connection for %g s: %s", self.address[1], PAUSE_SECONDS, error)
                    self._over.wait(PAUSE_SECONDS)
                    continue
                threading.Thread(target=self._meet, args=(connection, converse), daemon=True).start()

    def _meet(self, connection: socket.socket, converse: Callable[[Link, Any], None]) -> None:
        with connection:
            try:
                connection.settimeout(GREETING_SECONDS)
                link = _greet(connection, self._token, driver=True)
                said = link.receive_message()
            except (OSError, EOFError, Unreadable):
                return  # a stranger, or one that died at once
            converse(link, said)


def _greet(connection: socket.socket, token: bytes, *, driver: bool) -> Link:
    """Prove to each other that both have the token; ``connection`` has a timeout, which it has no longer after that."""
    _watch(connection)
    own = secrets.token_bytes(_NONCE_BYTES)
    connection.sendall(own)
    other = _read(connection, _NONCE_BYTES)
    session = hmac.digest(token, _PROTOCOL + (own + other if driver else other + own), _MAC)
    of_driver, of_member = (hmac.digest(session, whose, _MAC) for whose in (b"driver", b"member"))
    speaks, hears = (of_driver, of_member) if driver else (of_member, of_driver)
    link = Link(connection, speaks=speaks, hears=hears)
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
        if hasattr(socket, option):  # Linux has all of them
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


def _mac(key: bytes, number: int, written: bytes) -> bytes:
    return hmac.digest(key, _HEADER.pack(number) + written, _MAC)


def _read(connection: socket.socket, size: int) -> bytes:
    """Exactly ``size`` bytes. Raises EOFError where there are fewer."""
    found = bytearray(size)
    left = memoryview(found)
    while left:
        count = connection.recv_into(left)
        if not count:
            raise EOFError("the other side closed the connection")
        left = left[count:]
    return bytes(found)
