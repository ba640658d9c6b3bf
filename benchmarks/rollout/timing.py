"""Times the batches of any side."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import Any


def best_of(make_batch: Callable[[], Any], case: dict[str, Any]) -> dict[str, float]:
    """Make ``case["batches"]`` batches after a first, unmeasured batch.

    Returns the frames per second and the CPU microseconds per step of the best batches, because other load of the
    machine only adds time. Returns the process's peak memory, too.
    """
    make_batch()
    took: list[tuple[float, float]] = []
    for _ in range(case["batches"]):
        cpu, started = time.process_time(), time.perf_counter()
        make_batch()
        took.append((time.perf_counter() - started, time.process_time() - cpu))
    seconds, cpu = min(one for one, _ in took), min(one for _, one in took)
    return {
        "frames/s": case["steps"] * case["together"] / seconds,
        "CPU us/step": cpu / case["steps"] * 1e6,
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
