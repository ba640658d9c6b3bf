"""Measures TorchRL's own collectors, each in a process, without a driver that takes their frames."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable
from multiprocessing.synchronize import Barrier
from typing import Any

import torch

from benchmarks.raycollector import workloads

_PATIENCE_SECONDS = 120.0

Numbers = dict[str, float]


def throughput(case: dict[str, Any]) -> Numbers:
    """Return the frames per second of all collectors together, and their CPU microseconds per frame."""
    collectors, how = case["arguments"]["collectors"], case["how"]
    # A Sync batch has the frames of all collectors. An Async batch has the frames of one collector.
    frames = case["arguments"]["frames"] // (collectors if case["arguments"]["sync"] else 1)
    batches = how["batches"] if case["arguments"]["sync"] else -(-how["batches"] // collectors)
    context = multiprocessing.get_context("spawn")
    found: Any = context.Queue()
    together = context.Barrier(collectors)
    work = (case["environment"], case["policy"], frames, how["warm_up"], batches, together, found)
    processes = [context.Process(target=_collect, args=work, daemon=True) for _ in range(collectors)]
    for process in processes:
        process.start()
    parts = [found.get(timeout=_PATIENCE_SECONDS) for _ in processes]
    for process in processes:
        process.join()
    made = batches * frames
    return {
        "frames/s": sum(made / seconds for seconds, _ in parts),
        "CPU us/frame": sum(cpu for _, cpu in parts) / (made * collectors) * 1e6,
    }


def kept(case: dict[str, Any]) -> Numbers:
    """Return the percentage of the throughput that is left beside a thread that computes on one core.

    It is the loss that sharing the cores alone causes.
    """
    alone, over = throughput(case), threading.Event()
    learner = threading.Thread(target=_compute_until, args=(over,))
    learner.start()
    busy = throughput(case)
    over.set()
    learner.join()
    return {"% kept": busy["frames/s"] / alone["frames/s"] * 100}


MEASURES: dict[str, Callable[[dict[str, Any]], Numbers]] = {"throughput": throughput, "kept": kept}


def _compute_until(over: threading.Event) -> None:
    while not over.is_set():
        workloads.compute(0.05)


def _collect(
    environment: dict[str, Any], policy: str, frames: int, warm_up: int, batches: int, together: Barrier, found: Any
) -> None:
    from torchrl.collectors import Collector

    torch.set_num_threads(1)
    collector = Collector(
        workloads.environment(**environment),
        workloads.POLICIES[policy](),
        frames_per_batch=frames,
        total_frames=-1,
        return_same_td=True,
    )
    rollouts = iter(collector)
    for _ in range(warm_up):
        next(rollouts)
    together.wait(_PATIENCE_SECONDS)
    cpu, started = time.process_time(), time.perf_counter()
    for _ in range(batches):
        next(rollouts)
    found.put((time.perf_counter() - started, time.process_time() - cpu))
