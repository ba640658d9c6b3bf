"""A head and nodes in network namespaces. Each node is behind a link with a limited rate in megabits per second.

The process that makes the nodes is the head and has its own namespace, so the machine's network stays unchanged. The
module needs Linux and root.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

# Set in the process that runs inside its namespace. `Namespaces` of the test cluster do more than is needed here,
# because no namespace of this benchmark must outlive its process.
INSIDE: Final = "COLLECTORFLEET_BENCHMARK_INSIDE"
HEAD: Final = "10.77.0.1"


def enter(environment: Mapping[str, str]) -> None:
    """Replace this process by a new run of its main module in a new network namespace.

    ``environment`` is added to the environment of the new run. Inside the namespace the function does nothing.
    """
    if INSIDE not in os.environ:
        words = ["unshare", "--net", "--uts", sys.executable, *sys.orig_argv[1:]]
        os.execvpe(words[0], words, {**os.environ, **environment, INSIDE: "yes"})


class Node:
    """The ``number``-th node, from 1. Its namespace exists until the last process in it has ended.

    Its link carries ``mbit`` megabits per second in each direction.
    """

    def __init__(self, number: int, mbit: int) -> None:
        self.address = f"10.77.{number}.2"
        self._port = f"node{number}"
        here, gateway = os.readlink("/proc/self/ns/net"), f"10.77.{number}.1"
        self._holder = subprocess.Popen(["unshare", "--net", "--uts", "sleep", "infinity"])
        while os.readlink(f"/proc/{self._holder.pid}/ns/net") == here:
            time.sleep(0.01)
        _run("ip", "link", "add", self._port, "type", "veth", "peer", "name", "eth0", "netns", str(self._holder.pid))
        _run("ip", "address", "add", f"{gateway}/24", "dev", self._port)
        _run("ip", "link", "set", self._port, "up")
        self._inside("hostname", self.address)
        self._inside("ip", "address", "add", f"{self.address}/24", "dev", "eth0")
        self._inside("ip", "link", "set", "eth0", "up")
        self._inside("ip", "link", "set", "lo", "up")
        self._inside("ip", "route", "add", "default", "via", gateway)
        shape = ("root", "tbf", "rate", f"{mbit}mbit", "burst", "1mb", "latency", "100ms")
        _run("tc", "qdisc", "add", "dev", self._port, *shape)
        self._inside("tc", "qdisc", "add", "dev", "eth0", *shape)

    @property
    def received_bytes(self) -> int:
        """Return the bytes that the node has received over its link so far."""
        found: list[dict[str, dict[str, dict[str, int]]]] = json.loads(
            _run("ip", "-s", "-json", "link", "show", self._port)
        )
        return found[0]["stats64"]["tx"]["bytes"]

    def start(self, *words: str, log: Path) -> subprocess.Popen[bytes]:
        """Start a program on the node. Its output is appended to ``log``."""
        with log.open("ab") as out:
            return subprocess.Popen([*self._enter(), *words], stdout=out, stderr=out)

    def _inside(self, *words: str) -> None:
        _run(*self._enter(), *words)

    def _enter(self) -> tuple[str, ...]:
        return ("nsenter", "--target", str(self._holder.pid), "--net", "--uts")


def head() -> None:
    """Configure this namespace as the head: nodes reach it at :data:`HEAD`, and reach each other through it.

    The hostname is the address, so that every lookup of the hostname gives the address.
    """
    _run("hostname", HEAD)
    _run("ip", "link", "set", "lo", "up")
    _run("ip", "address", "add", f"{HEAD}/32", "dev", "lo")
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")


def _run(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout
