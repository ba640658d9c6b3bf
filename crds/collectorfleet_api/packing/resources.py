"""Computes the requests of a worker pod: the resources of its collectors, and the overhead of Ray.

Each collector may use all of `collectors.resources`, so the overhead is added here. Ray's object store is in /dev/shm,
whose memory counts towards the container's limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from collectorfleet_api.packing.quantity import parse_quantity

# The overhead of the raylet and its agents, which are idle most of the time.
RAY_CPUS: Final = Fraction(1, 5)
RAY_MEMORY_BYTES: Final = 512 * 2**20
# Ray's object store contains outgoing batches and incoming weights. Its size is the first amount, plus the second
# amount for each collector.
OBJECT_STORE_BYTES: Final = 256 * 2**20
OBJECT_STORE_BYTES_PER_COLLECTOR: Final = 256 * 2**20


@dataclass(frozen=True)
class PodResources:
    """CPUs, bytes and whole GPUs of one worker pod. ``object_store_bytes`` is part of ``memory_bytes``."""

    cpus: Fraction
    memory_bytes: int
    object_store_bytes: int
    gpus: int


def worker_pod_resources(cpu: str | int | float, memory: str | int | float, per_pod: int, gpus: int) -> PodResources:
    """Return the resources of a pod with ``per_pod`` collectors, each with ``cpu`` and ``memory``."""
    object_store = OBJECT_STORE_BYTES + per_pod * OBJECT_STORE_BYTES_PER_COLLECTOR
    collectors_bytes = -(-parse_quantity(memory) * per_pod // 1)
    return PodResources(
        cpus=parse_quantity(cpu) * per_pod + RAY_CPUS,
        memory_bytes=int(collectors_bytes) + RAY_MEMORY_BYTES + object_store,
        object_store_bytes=object_store,
        gpus=gpus,
    )
