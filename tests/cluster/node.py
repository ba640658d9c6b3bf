"""Run a node: namespaces for network, mounts and processes, with containerd, kubelet, kube-proxy and CoreDNS inside.

These programs write to built-in paths. A node mounts its own folders there, so the machine's folders do not change.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
from collections.abc import Iterable
from pathlib import Path

from tests.cluster import cgroups
from tests.cluster.client import Object
from tests.cluster.machine import MOUNT_POINTS, Process
from tests.cluster.namespaces import Namespaces, children
from tests.cluster.network import Switch, run
from tests.cluster.node_config import NodeConfig
from tests.cluster.process import Command, Component

LOGS = Path("/var/log/pods")
CTR = ("ctr", "--namespace", "k8s.io")  # containerd's namespace for the kubelet's containers


class NodeComponent(Component):
    """A component inside a node. Its process on the machine is nsenter, whose only child is the component."""

    def _signal(self, process: subprocess.Popen[bytes], how: signal.Signals) -> None:
        for child in children(process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, how)


class Node:
    """One node of a cluster, plugged into its switch."""

    def __init__(self, config: NodeConfig, logs: Path, *, bound: bool) -> None:
        config.write()
        cgroups.create(config.cgroup)
        self.config = config
        self._logs = logs
        self._inside = Namespaces(self._mounts(), logs / f"{config.name}.log", bound=bound)

    @property
    def holder(self) -> Process:
        return self._inside.holder

    def plug_in(self, switch: Switch, others: Iterable[int]) -> None:
        """Connect this node to the switch, and add routes to the pods of ``others``."""
        network, number = self.config.network, self.config.number
        switch.connect(number, self._inside.pid)
        inside = (
            "ip link set lo up",
            f"ip address add {network.node(number)}/24 dev eth0",
            "ip link set eth0 up",
            f"ip route add default via {network.machine}",
            *(f"ip route add {network.pods_of(n)} via {network.node(n)}" for n in others if n != number),
            "echo 1 > /proc/sys/net/ipv4/ip_forward",
        )
        run(*self._inside.enter(), "bash", "-ec", "\n".join(inside))

    def component(self, command: Command) -> Component:
        """Return the component that ``command`` starts in this node."""
        return NodeComponent(command, self._logs / f"{self.config.name}-{command.name}.log", self._inside.enter())

    def load(self, archive: Path) -> None:
        """Load an image archive into the node's containerd."""
        run(*self._inside.enter(), *CTR, "images", "import", str(archive))

    def kill_container(self, container_id: str) -> None:
        """End a container's processes with SIGKILL, as a crash does."""
        run(*self._inside.enter(), *CTR, "tasks", "kill", "--all", "--signal", "SIGKILL", container_id)

    def runs_container(self, container_id: str) -> bool:
        """Return whether containerd runs the container. The API server may not know its state yet."""
        listed = run(*self._inside.enter(), *CTR, "tasks", "list").splitlines()
        return any(line.split()[0] == container_id and line.split()[-1] == "RUNNING" for line in listed)

    def log(self, pod: Object, container: str) -> str:
        """Return the output of the first run of a container, from the node's disk. It needs no API server."""
        metadata = pod["metadata"]
        folder = f"{metadata['namespace']}_{metadata['name']}_{metadata['uid']}"
        return (self._mounted(LOGS) / folder / container / "0.log").read_text()

    def reap(self) -> None:
        self._inside.reap()

    def _mounts(self) -> str:
        lines = []
        for point in MOUNT_POINTS:
            own = self._mounted(point)
            own.mkdir(parents=True)
            lines.append(f"mount --bind {shlex.quote(str(own))} {point}")
        return "\n".join(lines)

    def _mounted(self, point: Path) -> Path:
        """Return the machine's folder that the node mounts at ``point``."""
        return self.config.folder / "mounts" / str(point).strip("/").replace("/", "-")
