"""What a worker pod asks Kubernetes for: its collectors' resources and what Ray itself needs beside them.

The overhead is ours to add, so that `collectors.resources` means what one collector may use and nothing is counted
twice. Memory of /dev/shm, where Ray's object store lives, counts against the container like any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from collectorfleet_api.packing.quantity import parse_quantity

# The raylet and its agents: idle most of the time.
RAY_CPUS: Final = Fraction(1, 5)
RAY_MEMORY_BYTES: Final = 512 * 2**20
# Batches on their way out and the weights on their way in: some for the pod, some for every collector in it.
OBJECT_STORE_BYTES: Final = 256 * 2**20
OBJECT_STORE_BYTES_PER_COLLECTOR: Final = 256 * 2**20


@dataclass(frozen=True)
class PodResources:
    """CPUs, bytes and whole GPUs of one worker pod; ``object_store_bytes`` is part of ``memory_bytes``."""

    cpus: Fraction
    memory_bytes: int
    object_store_bytes: int
    gpus: int


def worker_pod_resources(cpu: str | int | float, memory: str | int | float, per_pod: int, gpus: int) -> PodResources:
    """Resources of a pod with ``per_pod`` collectors of ``cpu`` and ``memory`` each."""
    object_store = OBJECT_STORE_BYTES + per_pod * OBJECT_STORE_BYTES_PER_COLLECTOR
    collectors_bytes = -(-parse_quantity(memory) * per_pod // 1)
    return PodResources(
        cpus=parse_quantity(cpu) * per_pod + RAY_CPUS,
        memory_bytes=int(collectors_bytes) + RAY_MEMORY_BYTES + object_store,
        object_store_bytes=object_store,
        gpus=gpus,
    )
