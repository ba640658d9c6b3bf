"""What is measured of one side. Every function returns plain numbers; ``__main__`` pairs and prints them."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

from benchmarks.raycollector.sides import Side, cpu_seconds


@dataclass(frozen=True)
class Throughput:
    frames_per_second: float
    cpu_us_per_frame: float


def throughput(side: Side, batches: int, warm_up: int, learner_seconds: float = 0.0) -> Throughput:
    """Frames a second over ``batches`` batches, while a learner sleeps ``learner_seconds`` after each."""
    for _ in range(warm_up):
        side.next()
        time.sleep(learner_seconds)
    cpu, started, frames = cpu_seconds(), time.perf_counter(), 0
    for _ in range(batches):
        frames += side.next().numel()
        time.sleep(learner_seconds)
    elapsed = time.perf_counter() - started
    return Throughput(frames / elapsed, (cpu_seconds() - cpu) / frames * 1e6)


def update_blocks(side: Side, updates: int) -> float:
    """Median seconds for which the driver is blocked by a weight update while rollouts run."""
    blocked = []
    for _ in range(updates):
        side.next()
        time.sleep(0.1)  # well inside the next rollout
        started = time.perf_counter()
        side.collector.update_policy_weights_()
        blocked.append(time.perf_counter() - started)
    return statistics.median(blocked)


def update_applied(side: Side, updates: int, **wait: bool) -> float:
    """Median seconds until every idle collector has applied an update."""
    seconds = []
    for _ in range(updates):
        started = time.perf_counter()
        side.collector.update_policy_weights_(**wait)
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)
