"""Samples the resources that a long run uses, and judges whether a resource grows."""

from __future__ import annotations

import contextlib
import re
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import psutil

MIB = 2**20
_STORE = re.compile(r"Plasma memory usage (\d+) MiB, (\d+) objects")


# This share of a run is its start, in which resources grow. It is not judged.
_START = 0.1


@dataclass(frozen=True)
class Limit:
    """The allowed growth of a resource over a whole run: ``share`` of its median or ``least``, whichever is more."""

    share: float
    least: float


LIMITS = {
    "driver RSS (MiB)": Limit(0.05, 16),
    "collectors RSS, mean (MiB)": Limit(0.05, 16),
    "raylet RSS (MiB)": Limit(0.10, 16),
    "GCS RSS (MiB)": Limit(0.10, 16),
    "object store (MiB)": Limit(0.05, 4),
    "objects in the store": Limit(0.05, 16),
    "threads of the driver": Limit(0.0, 2),
    "files open in the driver": Limit(0.0, 8),
    "actors": Limit(0.0, 0.5),
}
Sample = dict[str, float]


def processes() -> Sample:
    """Return the memory of the driver and of Ray's processes, and the numbers of threads, open files and actors."""
    me = psutil.Process()
    found: Sample = {
        "driver RSS (MiB)": me.memory_info().rss / MIB,
        "threads of the driver": me.num_threads(),
        "files open in the driver": me.num_fds(),
    }
    collectors = []
    for process in me.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            name, rss = " ".join(process.cmdline()), process.memory_info().rss / MIB
            if name.startswith("ray::CollectorActor"):
                collectors.append(rss)
            elif process.name() in ("raylet", "gcs_server"):
                found["raylet RSS (MiB)" if process.name() == "raylet" else "GCS RSS (MiB)"] = rss
    found["actors"] = len(collectors)
    if collectors:
        found["collectors RSS, mean (MiB)"] = statistics.mean(collectors)
    return found


def cpu_seconds() -> dict[str, float]:
    """Return the CPU seconds so far of the driver, of all collectors and of Ray's raylet and GCS."""
    found = {"driver": 0.0, "collectors": 0.0, "Ray": 0.0}
    me = psutil.Process()
    for process in (me, *me.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            times, name = process.cpu_times(), " ".join(process.cmdline())
            who = "driver" if process is me else "collectors" if name.startswith("ray::CollectorActor") else "Ray"
            # Ray also starts workers ahead and ends unused workers. Their CPU time would come and vanish.
            if who != "Ray" or process.name() in ("raylet", "gcs_server"):
                found[who] += times.user + times.system
    return found


def object_store(address: str) -> Sample:
    """Return the size and the number of objects in the object store.

    Runs ``ray memory``, which takes two seconds of a core. Raises SystemExit if its output has no such numbers.
    """
    done = subprocess.run(
        [sys.executable, "-m", "ray.scripts.scripts", "memory", "--address", address, "--stats-only"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    match = _STORE.search(done.stdout)
    if match is None:
        raise SystemExit(f"ray memory: exit code {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return {"object store (MiB)": float(match[1]), "objects in the store": float(match[2])}


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the Theil-Sen slope: the median of the slopes of all pairs. Single outliers do not change it."""
    slopes = [(y2 - y1) / (x2 - x1) for (x1, y1), (x2, y2) in combinations(points, 2) if x2 != x1]
    return statistics.median(slopes) if slopes else 0.0


@dataclass(frozen=True)
class Verdict:
    what: str
    first_quarter: float
    last_quarter: float
    growth: float  # over the whole run, by the slope
    allowed: float

    @property
    def grows(self) -> bool:
        return self.growth > self.allowed


def judge(what: str, points: Sequence[tuple[float, float]], batches: int) -> Verdict:
    """Judge the growth of ``what`` over a run of ``batches``. ``points`` are ``(batches so far, value)``.

    The first quarter is judged without the first tenth of the run, which is the start.
    """
    limit = LIMITS[what]
    steady = [point for point in points if point[0] >= batches * _START] or list(points)
    first = [y for x, y in points if batches / 10 <= x <= batches / 4] or [y for _, y in points[:1]]
    last = [y for x, y in points if x >= batches * 3 / 4] or [y for _, y in points[-1:]]
    allowed = max(limit.share * statistics.median(y for _, y in steady), limit.least)
    return Verdict(what, statistics.median(first), statistics.median(last), slope(steady) * batches, allowed)
