"""Connect the nodes of one cluster to a switch of their own. Each node routes to the pods of the others.

Every name and address follows from the cluster's index. The network has no address translation and no route to other
machines: pods reach pods, nodes and this machine.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network, ip_network
from pathlib import Path

from tests.cluster.machine import Process
from tests.cluster.namespaces import Namespaces


@dataclass(frozen=True)
class Network:
    """Names and addresses of the cluster with this index. Node numbers start at 1."""

    index: int

    @property
    def nodes(self) -> IPv4Network:
        return IPv4Network(f"10.200.{self.index}.0/24")

    @property
    def pods(self) -> IPv4Network:
        return IPv4Network(f"10.{216 + self.index}.0.0/16")

    @property
    def machine(self) -> str:
        """Return the address of this machine on the switch."""
        return str(self.nodes[254])

    def node(self, number: int) -> str:
        """Return the address of a node."""
        return str(self.nodes[number])

    def pods_of(self, number: int) -> str:
        """Return the subnet of the pods of a node."""
        return str(list(self.pods.subnets(new_prefix=24))[number])

    @property
    def cable(self) -> str:
        """Return the name of the link between this machine and the switch."""
        return f"cfleet{self.index}"

    @property
    def plugged_in(self) -> bool:
        return (Path("/sys/class/net") / self.cable).exists()


class Switch:
    """A bridge in its own network namespace, in which the machine's firewall does not filter traffic between nodes."""

    def __init__(self, network: Network, log: Path, *, bound: bool) -> None:
        self._network = network
        self._inside = Namespaces("ip link add bridge type bridge; ip link set bridge up", log, bound=bound)

    @property
    def holder(self) -> Process:
        return self._inside.holder

    def connect_machine(self, numbers: Iterable[int]) -> None:
        """Plug this machine in, and add routes to the pods of these nodes."""
        network = self._network
        peer = ("peer", "name", "machine", "netns", str(self._inside.pid))
        run("ip", "link", "add", network.cable, "type", "veth", *peer)
        run("ip", "address", "add", f"{network.machine}/24", "dev", network.cable)
        run("ip", "link", "set", network.cable, "up")
        self._ip("link", "set", "machine", "master", "bridge", "up")
        for number in numbers:
            run("ip", "route", "add", network.pods_of(number), "via", network.node(number))

    def connect(self, number: int, pid: int) -> None:
        """Plug in a node. The link ``eth0`` appears in the network namespace of ``pid``."""
        self._ip("link", "add", _port(number), "type", "veth", "peer", "name", "eth0", "netns", str(pid))
        self._ip("link", "set", _port(number), "master", "bridge", "up")

    def cut(self, number: int) -> None:
        """Unplug a node."""
        self._ip("link", "set", _port(number), "down")

    def heal(self, number: int) -> None:
        """Plug a node in again."""
        self._ip("link", "set", _port(number), "up")

    def reap(self) -> None:
        self._inside.reap()

    def _ip(self, *words: str) -> None:
        run(*self._inside.enter(network_only=True), "ip", *words)


def _port(number: int) -> str:
    return f"node{number}"


def usable_indices(count: int) -> Iterator[int]:
    """Yield the indices below ``count`` whose subnets overlap with no route of this machine."""
    known = [ip_network(route["dst"], strict=False) for route in _routes() if route["dst"] != "default"]
    for index in range(count):
        network = Network(index)
        if not any(net.version == 4 and net.overlaps(mine) for net in known for mine in (network.nodes, network.pods)):
            yield index


def _routes() -> list[dict[str, str]]:
    routes: list[dict[str, str]] = json.loads(run("ip", "-json", "-4", "route", "show", "table", "all") or "[]")
    return routes


def run(*words: str, check: bool = True) -> str:
    """Run a tool and return its stdout. With ``check``, RuntimeError with its stderr if it fails."""
    done = subprocess.run(words, check=False, text=True, capture_output=True)
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip() or f'exit code {done.returncode}'}")
    return done.stdout.strip()
