"""Reserve ports for the servers that tests start."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import sys
from pathlib import Path

EPHEMERAL_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
# Ray's workers use ports 10002 to 19999, and a Ray head refuses to use one of these ports for itself.
LOWEST = 20_000
HIGHEST = 65_535


def reserve_ports(count: int) -> list[int]:
    """Reserve ``count`` ports of 127.0.0.1 until this process ends.

    A server can listen on a reserved port, and again after a restart. The kernel gives the port to no other process,
    because it is outside the range of ephemeral ports. Another test run reserves other ports.

    Raises:
        RuntimeError: Fewer than ``count`` ports are free.
    """
    reserved = []
    for port in _candidates():
        if len(reserved) == count:
            break
        if _is_free(port) and _reserve(port):
            reserved.append(port)
    if len(reserved) < count:
        raise RuntimeError(f"ports of 127.0.0.1: only {len(reserved)} of {count} are free; end processes that listen")
    return reserved


def _candidates() -> list[int]:
    """Return the ports outside the ephemeral range in random order, or all ports if fewer than 1000 are outside."""
    every = range(LOWEST, HIGHEST + 1)
    lowest, highest = _ephemeral()
    fixed = [port for port in every if not lowest <= port <= highest]
    ports = fixed if len(fixed) >= 1000 else list(every)
    random.shuffle(ports)
    return ports


def _ephemeral() -> tuple[int, int]:
    try:
        lowest, highest = EPHEMERAL_RANGE.read_text().split()
    except FileNotFoundError:  # not Linux
        return 49_152, HIGHEST
    return int(lowest), int(highest)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # Most servers set this option, so old connections of an earlier server do not block the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return True
    return False


def _reserve(port: int) -> bool:
    """Reserve the port for this process, and return whether that succeeded.

    The reservation is an abstract name of a Unix socket, which needs no file and ends with the process.
    """
    if sys.platform != "linux":
        return True
    with socket.socket(socket.AF_UNIX) as name:
        try:
            name.bind(f"\0collectorfleet-tests-port-{port}")
        except OSError:
            return False
        # The duplicate is never closed, so it keeps the name until the process ends.
        os.dup(name.fileno())
    return True
