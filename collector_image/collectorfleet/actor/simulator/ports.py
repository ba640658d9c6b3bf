"""Find free TCP ports of the loopback interface, and the sockets that listen on given ports. Linux only."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_TABLES: Final = ("/proc/net/tcp", "/proc/net/tcp6")
_LISTENS: Final = "0A"
# 127.0.0.1 and the wildcard addresses in the kernel's notation, on a little-endian machine.
_REACHED_BY_LOOPBACK: Final = {
    "0100007F",
    "00000000",
    "0" * 32,
    "0000000000000000FFFF00000100007F",
}
_TRIES: Final = 100


@dataclass(frozen=True)
class Reservation:
    """Free ports by name.

    While ``sockets`` are open, other collectors on this machine do not use these ports.
    """

    ports: Mapping[str, int]
    sockets: Sequence[socket.socket]

    def close(self) -> None:
        for one in self.sockets:
            one.close()


def reserve(names: Iterable[str]) -> Reservation:
    """Reserve a free port for each name. Raises OSError if no port is free."""
    found: dict[str, int] = {}
    sockets: list[socket.socket] = []
    with contextlib.ExitStack() as until_all_are_found:
        for name in names:
            for _ in range(_TRIES):
                probe = until_all_are_found.enter_context(socket.socket())
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
                marked = _marked(port)
                if marked is not None:
                    found[name] = port
                    sockets.append(marked)
                    break
            else:
                raise OSError(f"no free port of 127.0.0.1 in {_TRIES} tries")
    return Reservation(found, sockets)


def are_free(ports: Iterable[int]) -> bool:
    """Return whether a server could now listen on all of these ports."""
    for port in ports:
        with socket.socket() as probe:
            # Most servers set this option, too. With this option, a port counts as free even if the kernel still has
            # connections of an ended server.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                return False
    return True


def listeners(ports: Iterable[int]) -> dict[int, set[int]]:
    """Return, for each port, the inodes of the sockets that listen on the port.

    This function reads the kernel's table instead of connecting to the port. A server that accepts only one connection
    would treat a test connection as its client.
    """
    found: dict[int, set[int]] = {port: set() for port in ports}
    for table in _TABLES:
        for port, inode in _listening(Path(table)):
            if port in found:
                found[port].add(inode)
    return found


def _listening(table: Path) -> list[tuple[int, int]]:
    try:
        lines = table.read_text().splitlines()[1:]
    except FileNotFoundError:  # no IPv6 on this machine
        return []
    rows = (line.split() for line in lines)
    places = ((row[1].split(":"), int(row[9])) for row in rows if row[3] == _LISTENS)
    return [(int(port, 16), inode) for (address, port), inode in places if address in _REACHED_BY_LOOPBACK]


def _marked(port: int) -> socket.socket | None:
    """Reserve the port among the collectors of this machine. Return None if another collector has reserved the port.

    The reservation is the abstract name of a socket. As soon as no process has the socket open, the kernel frees the
    name. Each network namespace has its own ports and its own abstract names.
    """
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind(f"\0collectorfleet-simulator-port-{port}")
    except OSError:
        name.close()
        return None
    return name
