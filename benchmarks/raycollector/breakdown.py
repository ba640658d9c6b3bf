"""Measures each part of an update of 25 MB alone. The results are medians in milliseconds."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any, cast

import ray
import torch

from benchmarks.common import child
from benchmarks.raycollector import workloads
from collectorfleet.actor.config import CollectorConfig
from collectorfleet.actor.target import WeightsTarget
from collectorfleet.codec import snapshot as snapshots
from collectorfleet.transport.ray.transport import RayTransport

_TIMES = 20
# Larger than the caches of a core. After a rollout, a collector's caches have none of its policy.
_CACHES_BYTES = 64 * 2**20


@ray.remote(num_cpus=1)
class _Listener:
    def hear(self) -> None:
        """Do nothing. The caller measures the call and its reply."""


def run(case: dict[str, Any]) -> dict[str, float]:
    """Return the milliseconds of each part by its name. ``case`` is not used."""
    del case
    torch.set_num_threads(1)
    policy = workloads.POLICIES["25 MB"]()
    tensors = snapshots.tensors_of(policy)
    target = WeightsTarget(snapshots.by_every_name(workloads.POLICIES["25 MB"]()))
    snapshot = snapshots.take(tensors)
    other = torch.zeros(_CACHES_BYTES, dtype=torch.uint8)
    with child.local_ray():
        transport = RayTransport(_no_collector, lambda _: {}, policy=None, seed=0)
        listener = cast("Any", _Listener).remote()
        ray.get(listener.hear.remote())
        return {
            "a snapshot of the policy": _median(lambda: snapshots.take(tensors)),
            "its digest": _median(lambda: snapshots.digest(snapshot.arrays)),
            "a snapshot and storing it": _median(lambda: transport.put(snapshots.take(tensors))),
            "a call of an actor and its reply": _median(lambda: ray.get(listener.hear.remote())),
            "loading and hashing it in a collector": _median(lambda: target.load(snapshot), before=other.add_),
        }


def _no_collector(slot: str) -> CollectorConfig:
    raise NotImplementedError(f"the measurement starts no collector in slot {slot}")


def _median(part: Callable[[], object], before: Callable[[int], object] | None = None) -> float:
    """Return the median milliseconds of ``part``. ``before`` runs before each call and is not measured."""
    seconds = []
    for _ in range(_TIMES):
        if before is not None:
            before(1)
        started = time.perf_counter()
        part()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds) * 1e3


if __name__ == "__main__":
    child.serve(run)
