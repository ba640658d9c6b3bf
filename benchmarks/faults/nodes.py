"""Two Ray nodes on one machine. The second node can be lost and started again."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import ray
from ray._common.utils import get_ray_address_file, reset_ray_address
from ray.cluster_utils import Cluster

from benchmarks.common.child import FOLDER
from benchmarks.common.patience import expecting

_STORE_BYTES = 200 * 2**20


class TwoNodes:
    """A Ray cluster of a head and a second node, with ``cpus`` CPUs each. The constructor joins this process to it."""

    def __init__(self, cpus: int) -> None:
        self._cpus = cpus
        head: dict[str, Any] = {"num_cpus": cpus, "object_store_memory": _STORE_BYTES, "temp_dir": os.environ[FOLDER]}
        # Ray writes the newest cluster's address into this folder, even with another `temp_dir`. It may not exist.
        Path(get_ray_address_file(None)).parent.mkdir(exist_ok=True)
        self._cluster = Cluster(initialize_head=True, head_node_args=head)
        self._second: list[psutil.Process] = []
        self.add_second()
        ray.init(address=self._cluster.address, log_to_driver=False)

    def add_second(self) -> None:
        """Start the second node and remember its processes."""
        before = {process.pid for process in psutil.Process().children()}
        with expecting("the second node", 60):
            self._cluster.add_node(num_cpus=self._cpus, object_store_memory=_STORE_BYTES)
        self._second = [process for process in psutil.Process().children() if process.pid not in before]

    def lose_second(self) -> None:
        """Kill all processes of the second node.

        Workers are searched before any process is killed, because they lose their parent when the raylet ends.
        """
        family = [child for process in self._second for child in process.children(recursive=True)]
        for process in (*self._second, *family):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()


@contextlib.contextmanager
def two_nodes(cpus: int) -> Iterator[TwoNodes]:
    """Run two nodes during the block. This process leaves the cluster after the block."""
    nodes = TwoNodes(cpus)
    try:
        yield nodes
    finally:
        # The parent process kills the remaining processes of the cluster.
        with expecting("ray.shutdown", 30):
            ray.shutdown()
        # Otherwise the next Ray on this machine would try to join the ended cluster.
        reset_ray_address()
