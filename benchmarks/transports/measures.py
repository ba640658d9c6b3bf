"""Measures one side in a child process: frames, weights, the start, and the replacement of a killed collector."""

from __future__ import annotations

import contextlib
import os
import signal
import statistics
import time
from collections.abc import Callable
from typing import Any

import ray
import torch

from benchmarks.common.child import local_ray, serve
from benchmarks.common.patience import expecting
from benchmarks.raycollector.measures import Side
from benchmarks.raycollector.workloads import POLICIES, environment
from benchmarks.transports.sides import MAKE, OURS, WITH_RAY

ENVS = 8
FRAMES = {"small": 800, "large": 400}
WARM_UP = 4  # batches


def run(case: dict[str, Any]) -> dict[str, float]:
    """Make one measurement. A case has ``side``, ``measure`` and ``rounds``, a number of batches, updates or kills."""
    torch.set_num_threads(1)
    with local_ray(num_cpus=8) if case["side"] in WITH_RAY else contextlib.nullcontext():
        return MEASURES[case["measure"]](case["side"], case["rounds"])


def frames(size: str, name: str, batches: int) -> dict[str, float]:
    """Return the frames per second in Async, and the seconds from the constructor to the first batch."""
    side = _side(name, size, POLICIES["cheap"](), sync=False)
    for _ in range(WARM_UP):
        side.next()
    began, seen = time.perf_counter(), 0
    for _ in range(batches):
        seen += side.next().numel()
    return {"frames/s": seen / (time.perf_counter() - began), "start s": side.start_seconds}


def update(name: str, updates: int) -> dict[str, float]:
    """Return the milliseconds until all idle collectors have 25 MB of new weights, the median of ``updates``."""
    side = _side(name, "small", POLICIES["25 MB"](), sync=True)
    # TorchRL's classes always wait for their collectors.
    wait = {"wait": True} if name in OURS else {}
    side.update(**wait)
    seconds = []
    for _ in range(updates):
        side.next()
        time.sleep(0.2)
        seconds.append(side.update(**wait))
    return {"ms": statistics.median(seconds) * 1e3}


def killed(name: str, kills: int) -> dict[str, float]:
    """Return the seconds from SIGKILL of one of two collectors to the first batch with frames of its replacement."""
    side = _side(name, "small", POLICIES["cheap"](), sync=True)
    seconds = []
    for number in range(1, kills + 1):
        victim = side.collector.remote_collectors[0]
        pid = victim.pid if hasattr(victim, "pid") else ray.get(victim.__ray_call__.remote(lambda _: os.getpid()))
        began = time.perf_counter()
        os.kill(pid, signal.SIGKILL)
        with expecting("a replacement", 60):
            while _replaced(side) < number:
                side.next()
            side.next()
        seconds.append(time.perf_counter() - began)
    return {"s": statistics.median(seconds)}


def _replaced(side: Side) -> int:
    """Return the number of restarts once all collectors are available; 0 before."""
    collectors = side.collector.status().progress.collectors
    return int(collectors.restarts) if collectors.available == collectors.desired else 0


def _side(name: str, size: str, policy: Any, *, sync: bool) -> Side:
    env = environment(pixels=size == "large", envs=ENVS)
    return Side(name, lambda: MAKE[name](env, policy, FRAMES[size], sync=sync))


MEASURES: dict[str, Callable[[str, int], dict[str, float]]] = {
    "small": lambda name, number: frames("small", name, number),
    "large": lambda name, number: frames("large", name, number),
    "25 MB": update,
    "killed": killed,
}


if __name__ == "__main__":
    serve(run)
