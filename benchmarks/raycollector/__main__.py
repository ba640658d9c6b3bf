"""Prints one table: RayCollector and FleetCollector alternating, medians of paired ratios.

    python -m benchmarks.raycollector [--rounds 5] [--only pixels,small,overlap,blocked,weights,constructor]

Sides take turns within a round and the order flips from round to round, because machines are noisy: a ratio of two
neighbours means something where seconds do not. CPU per frame counts driver, workers and Ray together.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import ray

from benchmarks.raycollector import measures, workloads
from benchmarks.raycollector.sides import Side, fleet_collector, ray_collector

Row = tuple[str, str, str, str]
RAY, FLEET = "RayCollector", "FleetCollector"


def pair(rounds: int, measure: Callable[[Side], Any], sides: tuple[Side, Side]) -> list[tuple[Any, Any]]:
    """``rounds`` measurements of both sides, neighbours in time; returns (RayCollector, FleetCollector) pairs."""
    found = []
    for number in range(rounds):
        order = sides if number % 2 == 0 else sides[::-1]
        by_name = {side.name: measure(side) for side in order}
        found.append((by_name[RAY], by_name[FLEET]))
    return found


def spread(values: list[float], unit: str = "") -> str:
    return f"{statistics.median(values):.3g}{unit} ({min(values):.3g}-{max(values):.3g})"


def both(
    env: Any, policy: Callable[[], Any], *, collectors: int, frames: int, sync: bool, fleet: dict[str, Any]
) -> tuple[Side, Side]:
    arguments = {"collectors": collectors, "frames": frames, "sync": sync}
    return (
        Side(RAY, ray_collector(env, policy(), **arguments)),
        Side(FLEET, fleet_collector(env, policy(), **arguments, **fleet)),
    )


def close(sides: tuple[Side, Side]) -> None:
    for side in sides:
        side.shutdown()


def compare_throughput(
    what: str, rounds: int, env: Any, *, frames: int, sync: bool, batches: int, **fleet: Any
) -> list[Row]:
    sides = both(env, workloads.cheap_policy, collectors=2, frames=frames, sync=sync, fleet=fleet)
    try:
        pairs = pair(rounds, lambda side: measures.throughput(side, batches, warm_up=3), sides)
    finally:
        close(sides)
    fps = [f.frames_per_second / r.frames_per_second for r, f in pairs]
    cpu = [r.cpu_us_per_frame / f.cpu_us_per_frame for r, f in pairs]
    absolute = [[p[i].frames_per_second for p in pairs] for i in (0, 1)]
    used = [[p[i].cpu_us_per_frame for p in pairs] for i in (0, 1)]
    return [
        (f"{what}, frames/s", spread(absolute[0]), spread(absolute[1]), spread(fps, "x")),
        (f"{what}, CPU us/frame", spread(used[0]), spread(used[1]), spread(cpu, "x less")),
    ]


def pixels(rounds: int) -> list[Row]:
    rows = []
    for sync, staleness in ((True, 1), (False, None)):
        name = f"pixels 64x4x84x84, {'Sync, one batch ahead' if sync else 'Async'}"
        rows += compare_throughput(
            name, rounds, workloads.pixels, frames=1024, sync=sync, batches=12, max_staleness=staleness
        )
    return rows


def small(rounds: int) -> list[Row]:
    rows = []
    for sync in (True, False):
        name = f"4 floats, {'Sync' if sync else 'Async'}"
        rows += compare_throughput(name, rounds, workloads.vectors, frames=1000, sync=sync, batches=6)
    return rows


def overlap(rounds: int) -> list[Row]:
    """How much of the throughput is left when a learner works as long as a rollout takes."""
    frames, rollout_seconds = 100, 0.25
    env = workloads.SleepingEnv(rollout_seconds / frames)
    rows = []
    for sync, staleness in ((True, 1), (False, None)):
        batch = 2 * frames if sync else frames
        # Two collectors: an Async batch comes every half rollout.
        learner = rollout_seconds if sync else rollout_seconds / 2
        sides = both(
            env,
            workloads.cheap_policy,
            collectors=2,
            frames=batch,
            sync=sync,
            fleet={"max_staleness": staleness},
        )

        def kept(side: Side, learner: float = learner) -> float:
            alone = measures.throughput(side, 10, warm_up=4).frames_per_second
            busy = measures.throughput(side, 10, warm_up=4, learner_seconds=learner).frames_per_second
            return busy / alone

        try:
            pairs = pair(rounds, kept, sides)
        finally:
            close(sides)
        ours, theirs = [f * 100 for _, f in pairs], [r * 100 for r, _ in pairs]
        ratio = [f / r for r, f in pairs]
        name = f"throughput kept beside a learner, {'Sync, one batch ahead' if sync else 'Async'}"
        rows.append((name, spread(theirs, " %"), spread(ours, " %"), spread(ratio, "x")))
    return rows


def blocked(rounds: int) -> list[Row]:
    env = workloads.SleepingEnv(0.01)
    sides = both(env, workloads.cheap_policy, collectors=2, frames=100, sync=False, fleet={})
    try:
        pairs = pair(rounds, lambda side: measures.update_blocks(side, 3), sides)
    finally:
        close(sides)
    ours, theirs = [f * 1e3 for _, f in pairs], [r * 1e3 for r, _ in pairs]
    ratio = [f / r for r, f in pairs]
    return [
        ("driver blocked by an update, 1 s rollouts", spread(theirs, " ms"), spread(ours, " ms"), spread(ratio, "x"))
    ]


def weights(rounds: int) -> list[Row]:
    sides = both(workloads.vectors, workloads.large_policy, collectors=4, frames=40, sync=True, fleet={})
    try:
        for side in sides:
            side.next()

        def applied(side: Side) -> float:
            wait = {"wait": True} if side.name == FLEET else {}
            return measures.update_applied(side, 4, **wait)

        applied(sides[0])  # RayCollector connects at its first update
        pairs = pair(rounds, applied, sides)
    finally:
        close(sides)
    ours, theirs = [f * 1e3 for _, f in pairs], [r * 1e3 for r, _ in pairs]
    ratio = [f / r for r, f in pairs]
    return [
        (
            "25 MB, 196 tensors applied by 4 idle collectors",
            spread(theirs, " ms"),
            spread(ours, " ms"),
            spread(ratio, "x"),
        )
    ]


def constructor(rounds: int) -> list[Row]:
    found: dict[str, list[float]] = {RAY: [], FLEET: []}
    for number in range(rounds):
        makers = [(RAY, ray_collector), (FLEET, fleet_collector)]
        for name, make in makers if number % 2 == 0 else makers[::-1]:
            started = time.perf_counter()
            side = Side(name, make(workloads.vectors, workloads.cheap_policy(), collectors=2, frames=100, sync=True))
            side.next()
            found[name].append(time.perf_counter() - started)
            side.shutdown()
    ratio = [f / r for r, f in zip(found[RAY], found[FLEET], strict=True)]
    return [("constructor to first batch", spread(found[RAY], " s"), spread(found[FLEET], " s"), spread(ratio, "x"))]


MEASURES: dict[str, Callable[[int], list[Row]]] = {
    "pixels": pixels,
    "small": small,
    "overlap": overlap,
    "blocked": blocked,
    "weights": weights,
    "constructor": constructor,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default=",".join(MEASURES), help="comma-separated measures")
    args = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="cfb") as folder:
        ray.init(
            num_cpus=16,
            resources={"collector": 16},
            include_dashboard=False,
            log_to_driver=False,
            object_store_memory=2 * 2**30,
            _temp_dir=folder,
        )
        try:
            for name in args.only.split(","):
                rows += MEASURES[name](args.rounds)
                print(f"{name}: done (load average {os.getloadavg()[0]:.1f})", flush=True)
        finally:
            ray.shutdown()
    print(f"\n| {args.rounds} paired rounds, median (min-max) | {RAY} | {FLEET} | ratio |\n|---|---|---|---|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    packages = ", ".join(f"{p} {version(p)}" for p in ("torch", "torchrl", "tensordict", "ray"))
    print(f"\n{packages}; Python {platform.python_version()}, {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
