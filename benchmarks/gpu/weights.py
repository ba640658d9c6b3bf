"""Measures how weights on the driver's GPU reach four collectors on a quarter of that GPU each, and each part alone."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import ray
from torch import Tensor

from benchmarks.gpu.devices import (
    copy_all,
    is_gpu,
    local_ray,
    milliseconds,
    on_stream,
    pinned_like,
    side_stream,
    synchronize,
)  # fmt: skip
from benchmarks.gpu.processes import Peer, peers, pickled
from benchmarks.gpu.receivers import make_loading
from benchmarks.gpu.results import Results, Work, alternate
from benchmarks.gpu.workloads import Frames, policy
from collectorfleet.codec import snapshot

COLLECTORS = 4
# Tensors and the numbers in each of them: 250 MB of float32.
SIZE, QUICK_SIZE = (195, 320_000), (20, 10_000)
_APPLIED_SECONDS = 30.0


def measure(results: Results, device: str, *, quick: bool) -> None:
    size = QUICK_SIZE if quick else SIZE
    case = f"{size[0] * size[1] * 4 / 1e6:.3g} MB in {size[0]} tensors"
    learned = policy(*size).to(device)
    weights = [parameter.detach() for parameter in learned.parameters()]
    most = 2 if quick else 8
    with local_ray(device, store_bytes=(200 if quick else 3000) * 2**20):
        with results.step("publish"):
            _fleet(results, case, learned, device, most)
        with results.step("parts"):
            alternate(results, _parts(case, learned, weights, device), most=most, seconds=6)
    shapes = [tuple(one.shape) for one in weights]
    with results.step("CUDA IPC"), peers(COLLECTORS, make_loading, device, shapes) as found:
        handed: dict[tuple[str, str], Work] = {
            (f"CUDA IPC to {COLLECTORS} processes", case): partial(_hand_over, found, weights, device)
        }
        alternate(results, handed, most=most, seconds=3)


def _fleet(results: Results, case: str, learned: Any, device: str, most: int) -> None:
    """Measure ``update_policy_weights_`` while all collectors are idle."""
    from collectorfleet import FleetCollector

    share = 1 / COLLECTORS if is_gpu(device) else 0
    collector = FleetCollector(
        partial(Frames, 1, (4,), device),
        learned,
        num_collectors=COLLECTORS,
        frames_per_batch=10 * COLLECTORS,
        total_frames=-1,
        sync=True,
        device=device,
        remote_configs={"num_cpus": 1, "num_gpus": share},
    )
    try:
        batches = iter(collector)
        next(batches)
        works: dict[tuple[str, str], Work] = {
            ("publish: the driver is blocked", case): partial(_publish, collector, batches, device, wait=False),
            (f"publish: {COLLECTORS} collectors have acknowledged", case): partial(
                _publish, collector, batches, device, wait=True
            ),
        }
        alternate(results, works, most=most, seconds=12)
    finally:
        collector.shutdown()


def _publish(collector: Any, batches: Any, device: str, *, wait: bool) -> float:
    # Sync publishes one version for each batch. A batch is on-policy, so the version before was applied.
    next(batches)
    time.sleep(0.1)
    synchronize(device)
    began = time.perf_counter()
    found = collector.update_policy_weights_(wait=wait, timeout=_APPLIED_SECONDS)
    took = (time.perf_counter() - began) * 1e3
    if wait and not all(one.acknowledged for one in found.values()):
        raise RuntimeError(f"not acknowledged within {_APPLIED_SECONDS:g} s: {found}")
    return took


def _parts(case: str, learned: Any, weights: list[Tensor], device: str) -> dict[tuple[str, str], Work]:
    pinned, stream = pinned_like(weights, device), side_stream(device)
    taken = snapshot.take(snapshot.tensors_of(learned))
    parts: dict[str, Any] = {
        "device to pageable host": lambda: [one.cpu() for one in weights],
        "device to pinned host": lambda: copy_all(pinned, weights),
        "a snapshot as a publish takes it": lambda: snapshot.take(snapshot.tensors_of(learned)),
        "ray.put of a snapshot": lambda: ray.put(taken),
        "digest of a snapshot": lambda: snapshot.digest(taken.arrays),
    }
    timed: dict[tuple[str, str], Work] = {
        (what, case): partial(milliseconds, part, device) for what, part in parts.items()
    }
    return timed | {("pinned host on a side stream", case): partial(_aside, weights, pinned, stream, device)}


def _aside(weights: list[Tensor], pinned: list[Tensor], stream: Any, device: str) -> Mapping[str, float]:
    """Copy the weights on the device, so that training can continue, and the copies to the host on another stream."""
    synchronize(device)
    began = time.perf_counter()
    copies = [one.clone() for one in weights]
    with on_stream(stream):
        copy_all(pinned, copies)
    continues = time.perf_counter()
    synchronize(device)
    took = time.perf_counter()
    return {
        "pinned host on a side stream: the driver is blocked": (continues - began) * 1e3,
        "pinned host on a side stream: copied": (took - began) * 1e3,
    }


def _hand_over(found: list[Peer], weights: list[Tensor], device: str) -> Mapping[str, float]:
    synchronize(device)
    began = time.perf_counter()
    for peer in found:
        peer.send_pickled(pickled(weights))
    sent = time.perf_counter()
    opened = [peer.answer() for peer in found]
    took = time.perf_counter()
    name = f"CUDA IPC to {len(found)} processes"
    return {
        f"{name}: the driver is blocked": (sent - began) * 1e3,
        f"{name}: all have copied": (took - began) * 1e3,
        f"{name}: longest opening": max(opened),
    }
