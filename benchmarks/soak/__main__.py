"""Run many small batches through FleetCollector Async, compare the run's first and last quarter, and print a verdict.

    python -m benchmarks.soak [--batches 200000] [--publish-every 10] [--profile] [--write docs/soak.md]

A batch is one step of 8 environments, so that nearly all work is the collector's own. Each frame's action is the number
of the weights version that made the frame. The benchmark compares the action with the version in the batch. The exit
code is 1 if a resource grows, or if a batch names the wrong version.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from typing import Any

import torch

from benchmarks.common import child, tables
from benchmarks.common.patience import answer_with_stacks, expecting
from benchmarks.raycollector.workloads import cheap_policy, environment
from benchmarks.soak import samples
from benchmarks.soak.profile import Profile

FRAMES = 8
# The batches between two looks at the clock, and the least seconds between two samples of memory.
_BATCHES_PER_LOOK = 200
_LOOK_SECONDS = 2.0
_STORE_LOOKS = 40

Points = defaultdict[str, list[tuple[float, float]]]


class Soak:
    """A collector and the samples of its resources.

    ``points`` has ``(batches so far, value)`` by resource, ``rates`` has ``(batches so far, batches per second)``.
    ``wrong`` counts the batches with frames of another version than the batch names.
    """

    def __init__(self, batches: int, publish_every: int, collectors: int) -> None:
        from collectorfleet import FleetCollector

        self.batches, self.publish_every = batches, publish_every
        self.points: Points = defaultdict(list)
        self.rates: list[tuple[float, float]] = []
        self.cpu_ms: dict[str, float] = {}
        self.wrong = 0
        self.published = 1
        self.policy = cheap_policy()
        self._set_policy(1)
        with expecting("the constructor", 120):
            self.collector = FleetCollector(
                environment(envs=FRAMES),
                self.policy,
                num_collectors=collectors,
                frames_per_batch=FRAMES,
                total_frames=-1,
                sync=False,
                remote_configs={"num_cpus": 1},
            )

    def _set_policy(self, version: int) -> None:
        with torch.no_grad():
            next(self.policy.parameters()).fill_(version)

    def run(self, address: str) -> float:
        """Take all batches and return the seconds from the first batch to the last. ``address`` is Ray's."""
        self._batches = iter(self.collector)
        with expecting("the first batch", 120):
            next(self._batches)
        cpu = samples.cpu_seconds()
        started = looked = time.perf_counter()
        stored = seen = 0
        for done in range(0, self.batches, _BATCHES_PER_LOOK):
            with expecting(f"batches {done} to {done + _BATCHES_PER_LOOK}", 120):
                self._some(done, min(_BATCHES_PER_LOOK, self.batches - done))
            now = time.perf_counter()
            if now - looked < _LOOK_SECONDS:
                continue
            count = done + _BATCHES_PER_LOOK
            self.rates.append((count, (count - seen) / (now - looked)))
            sample = samples.processes()
            if count >= stored * self.batches / _STORE_LOOKS:
                stored = int(count * _STORE_LOOKS / self.batches) + 1
                sample |= samples.object_store(address)
                self._progress(count, sample)
            for what, value in sample.items():
                self.points[what].append((count, value))
            looked, seen = time.perf_counter(), count
        self.cpu_ms = {who: (now - cpu[who]) / self.batches * 1e3 for who, now in samples.cpu_seconds().items()}
        return time.perf_counter() - started

    def _some(self, first: int, batches: int) -> None:
        for number in range(first, first + batches):
            batch = next(self._batches)
            made_by = batch["collector", "weights_version"]
            # float32 has each whole number up to 16,777,216 exactly, so the comparison is exact.
            self.wrong += not bool((batch["action"][..., 0] == made_by).all())
            if number % self.publish_every == 0:
                self.published += 1
                self._set_policy(self.published)
                self.collector.update_policy_weights_()

    def _progress(self, count: int, sample: samples.Sample) -> None:
        numbers = ", ".join(f"{what} {tables.number(value)}" for what, value in sample.items())
        print(f"{count:,} batches, {self.rates[-1][1]:.0f}/s: {numbers}", flush=True)


def report(soak: Soak, seconds: float) -> tuple[str, bool]:
    """Return the table with a summary, and whether the run failed."""
    verdicts = [samples.judge(what, soak.points[what], soak.batches) for what in samples.LIMITS if soak.points[what]]
    rows = [
        [
            v.what,
            *(tables.number(x) for x in (v.first_quarter, v.last_quarter, v.growth, v.allowed)),
            "GROWS" if v.grows else "ok",
        ]
        for v in verdicts
    ]
    rows.append(["batches/s", *(tables.number(_quarter(soak, quarter)) for quarter in (0, 3)), "", "", ""])
    status: Any = soak.collector.status()
    table = tables.table(["", "first quarter", "last quarter", "growth, by slope", "allowed", ""], rows)
    summary = (
        f"{soak.batches:,} batches of {FRAMES} frames in {seconds:.0f} s, {soak.batches / seconds:.0f} batches/s. "
        f"CPU per batch: {', '.join(f'{who} {ms:.2f} ms' for who, ms in soak.cpu_ms.items())} of time. "
        f"{soak.published:,} versions published, {soak.wrong} batches with a wrong version, "
        f"{status.progress.collectors.restarts} restarts. {tables.machine()}."
    )
    return f"{table}\n\n{summary}", bool(soak.wrong) or any(v.grows for v in verdicts)


def _quarter(soak: Soak, quarter: int) -> float:
    """Return the mean batches per second of a quarter of the run, counted from 0."""
    inside = [rate for at, rate in soak.rates if soak.batches * quarter / 4 < at <= soak.batches * (quarter + 1) / 4]
    return sum(inside) / max(len(inside), 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=200_000)
    parser.add_argument("--publish-every", type=int, default=10, help="batches")
    parser.add_argument("--collectors", type=int, default=2)
    parser.add_argument("--profile", action="store_true", help="sample the driver's threads; costs some speed")
    parser.add_argument("--write", metavar="FILE", help="write the table there too")
    args = parser.parse_args()
    torch.set_num_threads(1)
    answer_with_stacks()
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    folder = tempfile.mkdtemp(prefix="cfb-")
    os.environ[child.FOLDER] = folder
    try:
        with child.local_ray(num_cpus=args.collectors, object_store_memory=300 * samples.MIB):
            import ray

            soak = Soak(args.batches, args.publish_every, args.collectors)
            profile = Profile("MainThread", "collectorfleet-gather") if args.profile else None
            seconds = soak.run(ray.get_runtime_context().gcs_address)
            if profile:
                profile.stop()
                print(profile.report())
            text, failed = report(soak, seconds)
            with expecting("shutdown", 60):
                soak.collector.shutdown()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    verdict = "FAIL" if failed else "PASS"
    print(f"\n{text}\n\n{verdict}")
    if args.write:
        introduction = (
            f"# A long run\n\n{__doc__.splitlines()[0]}\n\n    python -m benchmarks.soak --write {args.write}"
        )
        tables.write(args.write, f"{introduction}\n\n{text} {verdict}.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
