"""The two sides of every comparison, made from the same arguments, and their CPU time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psutil

RAY, FLEET = "RayCollector", "FleetCollector"
# TorchRL's collectors without a driver that takes their frames; see benchmarks.raycollector.plain.
PLAIN = "TorchRL"


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


MAKE: dict[str, Callable[..., Any]] = {RAY: ray_collector, FLEET: fleet_collector}


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and its descendants, which include Ray and its workers."""
    total = 0.0
    me = psutil.Process()
    for process in (me, *me.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total
