"""What is measured of one side, in a process with a Ray of its own (``child``). Every function returns plain numbers.

Each wait has a limit and says what it waited for, see :mod:`benchmarks.common.patience`.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from benchmarks.common import child
from benchmarks.common.patience import expecting
from benchmarks.raycollector import plain, sides, workloads
from collectorfleet_api import ray_settings

# Longest wait for one batch or one update. RayCollector's first update connects process groups, which takes seconds.
PATIENCE_SECONDS = 60.0

Numbers = dict[str, float]


class Side:
    """A collector of one kind, its iterator, and the time from its constructor to its first batch."""

    def __init__(self, name: str, make: Callable[[], Any]) -> None:
        self.name = name
        started = time.perf_counter()
        with expecting(f"{name}(...)", 2 * PATIENCE_SECONDS):
            self.collector = make()
        self._batches = iter(self.collector)
        self.next()
        self.start_seconds = time.perf_counter() - started

    def next(self) -> Any:
        with expecting(f"a batch of {self.name}", PATIENCE_SECONDS):
            return next(self._batches)

    def update(self, **options: Any) -> float:
        """Seconds for which ``update_policy_weights_`` blocks."""
        started = time.perf_counter()
        with expecting(f"update_policy_weights_ of {self.name}", PATIENCE_SECONDS):
            self.collector.update_policy_weights_(**options)
        return time.perf_counter() - started

    def shutdown(self) -> None:
        with expecting(f"{self.name}.shutdown", PATIENCE_SECONDS):
            self.collector.shutdown()


def _frames(
    side: Side, batches: int, *, learner_seconds: float = 0.0, computes: bool = False, read: bool = False
) -> int:
    frames = 0
    for _ in range(batches):
        batch = side.next()
        # A batch of stragglers that were cut short has room for frames that were not made.
        mask = batch.get(("collector", "mask"), None)
        frames += batch.numel() if mask is None else int(mask.sum())
        if read:
            # A learner reads what it was given, which shows a batch that is only promised.
            batch["observation"].max()
            batch["next", "observation"].max()
        if computes:
            workloads.compute(learner_seconds)
        else:
            time.sleep(learner_seconds)
    return frames


def throughput(side: Side, *, batches: int, warm_up: int, **how: Any) -> Numbers:
    """Frames a second, and CPU microseconds per frame of driver, workers and Ray together."""
    _frames(side, warm_up, **how)
    cpu, started = sides.cpu_seconds(), time.perf_counter()
    frames = _frames(side, batches, **how)
    elapsed = time.perf_counter() - started
    return {"frames/s": frames / elapsed, "CPU us/frame": (sides.cpu_seconds() - cpu) / frames * 1e6}


def kept(side: Side, *, batches: int, warm_up: int, learner_seconds: float, computes: bool) -> Numbers:
    """Percentage of the throughput that is left beside a learner of ``learner_seconds`` for each batch.

    It sleeps, as if on a GPU, or computes on one core.
    """
    alone = throughput(side, batches=batches, warm_up=warm_up)
    learner = {"learner_seconds": learner_seconds, "computes": computes}
    busy = throughput(side, batches=batches, warm_up=warm_up, **learner)
    return {"% kept": busy["frames/s"] / alone["frames/s"] * 100}


def blocked(side: Side, *, updates: int) -> Numbers:
    """Milliseconds for which a weight update blocks the driver while all collectors are inside a rollout.

    The median of the row of updates, and the longest of it.
    """
    side.update()  # RayCollector connects at its first one
    seconds = []
    for _ in range(updates):
        side.next()
        time.sleep(0.1)  # well inside the next rollout
        seconds.append(side.update())
    return {"ms": statistics.median(seconds) * 1e3, "longest ms": max(seconds) * 1e3}


def applied(side: Side, *, updates: int) -> Numbers:
    """Milliseconds until every idle collector has applied an update.

    A batch is taken before each: in Sync a version is published once for each batch handed out and not more often.
    """
    # RayCollector always waits for its workers.
    wait = {"wait": True} if side.name == sides.FLEET else {}
    side.update(**wait)
    seconds = []
    for _ in range(updates):
        side.next()
        time.sleep(0.1)
        seconds.append(side.update(**wait))
    return {"ms": statistics.median(seconds) * 1e3}


MEASURES: dict[str, Callable[..., Numbers]] = {
    "throughput": throughput,
    "kept": kept,
    "blocked": blocked,
    "applied": applied,
}


def run(case: dict[str, Any]) -> Numbers:
    """One measurement; the keys of ``case`` are those of :class:`benchmarks.raycollector.cases.Case`."""
    torch.set_num_threads(1)
    if case["side"] == sides.PLAIN:
        return plain.MEASURES[case["measure"]](case)
    name, env = case["side"], workloads.environment(**case["environment"])
    if name == sides.FLEET:
        os.environ.update(ray_settings.environment())  # as it does itself where no Ray runs yet
    with child.local_ray():
        policy = workloads.POLICIES[case["policy"]]()
        side = Side(name, lambda: sides.MAKE[name](env, policy, **case["arguments"], **case["options"]))
        found = MEASURES[case["measure"]](side, **case["how"])
        side.shutdown()
    return {**found, "start s": side.start_seconds}


if __name__ == "__main__":
    child.serve(run)
