"""The measurements of one side, in a child process with its own Ray. Every function returns plain numbers.

Each wait has a timeout and a name, see :mod:`benchmarks.common.patience`.
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

# The timeout of one batch or one update. RayCollector's first update connects process groups, which takes seconds.
PATIENCE_SECONDS = 60.0

Numbers = dict[str, float]


class Side:
    """A collector of one kind. ``start_seconds`` is the time from its constructor to its first batch."""

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
        """Update the weights and return the seconds for which ``update_policy_weights_`` blocks."""
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
    """Take batches and return the number of frames. A learner works or sleeps ``learner_seconds`` after each batch."""
    frames = 0
    for _ in range(batches):
        batch = side.next()
        # If stragglers were cut short, the batch has unused places. Its mask shows the frames that were made.
        mask = batch.get(("collector", "mask"), None)
        frames += batch.numel() if mask is None else int(mask.sum())
        if read:
            # A learner reads the frames. A collector that loads frames only when they are read pays for it here.
            batch["observation"].max()
            batch["next", "observation"].max()
        if computes:
            workloads.compute(learner_seconds)
        else:
            time.sleep(learner_seconds)
    return frames


def throughput(side: Side, *, batches: int, warm_up: int, **how: Any) -> Numbers:
    """Return the frames per second, and the CPU microseconds per frame of driver, workers and Ray together."""
    _frames(side, warm_up, **how)
    cpu, started = sides.cpu_seconds(), time.perf_counter()
    frames = _frames(side, batches, **how)
    elapsed = time.perf_counter() - started
    return {"frames/s": frames / elapsed, "CPU us/frame": (sides.cpu_seconds() - cpu) / frames * 1e6}


def kept(side: Side, *, batches: int, warm_up: int, learner_seconds: float, computes: bool) -> Numbers:
    """Return the percentage of the throughput that is left beside a learner.

    For each batch, the learner takes ``learner_seconds``. It computes on one core, or sleeps like a learner on a GPU.
    """
    alone = throughput(side, batches=batches, warm_up=warm_up)
    learner = {"learner_seconds": learner_seconds, "computes": computes}
    busy = throughput(side, batches=batches, warm_up=warm_up, **learner)
    return {"% kept": busy["frames/s"] / alone["frames/s"] * 100}


def blocked(side: Side, *, updates: int) -> Numbers:
    """Return the milliseconds for which an update blocks the driver while all collectors are inside a rollout.

    The result has the median and the longest of all updates.
    """
    side.update()  # RayCollector connects its process groups at the first update
    seconds = []
    for _ in range(updates):
        side.next()
        time.sleep(0.1)  # well inside the next rollout
        seconds.append(side.update())
    return {"ms": statistics.median(seconds) * 1e3, "longest ms": max(seconds) * 1e3}


def applied(side: Side, *, updates: int) -> Numbers:
    """Return the milliseconds until every idle collector has applied an update, the median of ``updates``.

    A batch is taken before each update, because Sync publishes at most one version per batch.
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
    """Make one measurement. ``case`` comes from :meth:`benchmarks.raycollector.cases.Case.spec`."""
    torch.set_num_threads(1)
    if case["side"] == sides.PLAIN:
        return plain.MEASURES[case["measure"]](case)
    name, env = case["side"], workloads.environment(**case["environment"])
    if name == sides.FLEET:
        os.environ.update(ray_settings.environment())  # FleetCollector does the same if no Ray runs
    with child.local_ray():
        policy = workloads.POLICIES[case["policy"]]()
        side = Side(name, lambda: sides.MAKE[name](env, policy, **case["arguments"], **case["options"]))
        found = MEASURES[case["measure"]](side, **case["how"])
        side.shutdown()
    return {**found, "start s": side.start_seconds}


if __name__ == "__main__":
    child.serve(run)
