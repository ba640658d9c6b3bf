"""A head and nodes in network namespaces, each node behind a link that carries so many megabits a second and no more.

The process that makes one is the head, in a namespace of its own: the machine's network is not touched. Linux, root.
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

# As `Namespaces` of the test cluster would be too much: nothing here has to outlive this process.
INSIDE: Final = "COLLECTORFLEET_BENCHMARK_INSIDE"
HEAD: Final = "10.77.0.1"


def enter(environment: Mapping[str, str]) -> None:
    """Go on in a network namespace of this process's own: runs its main module once more, from the beginning."""
    if INSIDE not in os.environ:
        words = ["unshare", "--net", "--uts", sys.executable, *sys.orig_argv[1:]]
        os.execvpe(words[0], words, {**os.environ, **environment, INSIDE: "yes"})


class Node:
    """The ``number``-th node, from 1. Its namespace is there until this process's children end."""

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
        """Over its link, so far."""
        found: list[dict[str, dict[str, dict[str, int]]]] = json.loads(
            _run("ip", "-s", "-json", "link", "show", self._port)
        )
        return found[0]["stats64"]["tx"]["bytes"]

    def start(self, *words: str, log: Path) -> subprocess.Popen[bytes]:
        """Run a program on it."""
        with log.open("ab") as out:
            return subprocess.Popen([*self._enter(), *words], stdout=out, stderr=out)

    def _inside(self, *words: str) -> None:
        _run(*self._enter(), *words)

    def _enter(self) -> tuple[str, ...]:
        return ("nsenter", "--target", str(self._holder.pid), "--net", "--uts")


def head() -> None:
    """Make this namespace one that nodes reach at :data:`HEAD`, and each other through.

    A host's name is its address, which is what everybody makes of it who looks it up.
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
