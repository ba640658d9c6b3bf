"""The two sides of every comparison, made from the same arguments, and what they cost in CPU time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import psutil
from tensordict import TensorDictBase

Make = Callable[..., Any]


@dataclass
class Side:
    """A collector of one kind, and its iterator."""

    name: str
    collector: Any

    def __post_init__(self) -> None:
        self._batches: Iterator[TensorDictBase] = iter(self.collector)

    def next(self) -> TensorDictBase:
        return next(self._batches)

    def shutdown(self) -> None:
        self.collector.shutdown()


def ray_collector(env: Any, policy: Any, *, collectors: int, frames: int, sync: bool, **options: Any) -> Any:
    from torchrl.collectors.distributed import RayCollector

    return RayCollector(
        [env] * collectors,
        policy,
        frames_per_batch=frames,
        total_frames=10**12,  # -1, the documented "endless", collects nothing
        sync=sync,
        remote_configs={"num_cpus": 1, "num_gpus": 0},
        **options,
    )


def fleet_collector(env: Any, policy: Any, *, collectors: int, frames: int, sync: bool, **options: Any) -> Any:
    from collectorfleet import FleetCollector

    return FleetCollector(
        [env] * collectors,
        policy,
        frames_per_batch=frames,
        total_frames=-1,
        sync=sync,
        remote_configs={"num_cpus": 1, "num_gpus": 0},
        **options,
    )


def cpu_seconds() -> float:
    """CPU time of this process and everything that it started, Ray and its workers included."""
    total = 0.0
    me = psutil.Process()
    for process in (me, *me.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total
