"""Measures how frames on a GPU reach the driver's GPU: each part alone, the whole path of a fleet, and CUDA IPC."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from itertools import chain
from typing import Any

import ray
import torch
from tensordict import TensorDictBase
from torch import Tensor

from benchmarks.gpu.devices import copy_all, is_gpu, local_ray, milliseconds, pinned_like, synchronize
from benchmarks.gpu.networks import PIXELS
from benchmarks.gpu.processes import Peer, peers, pickled
from benchmarks.gpu.receivers import make_reading
from benchmarks.gpu.results import Results, Work, alternate
from benchmarks.gpu.workloads import Frames, policy
from collectorfleet.codec import tensors
from collectorfleet.codec.frames import Part

STEPS = 8
# The observation and the next observation.
_BYTES_PER_FRAME = 2 * 4 * 84 * 84
SIZES_MB = (4.0, 40.0, 400.0)
QUICK_SIZES_MB = (1.0, 2.0)


def measure(results: Results, device: str, *, quick: bool) -> None:
    sizes = {f"{size:g} MB": max(1, round(size * 1e6 / _BYTES_PER_FRAME / STEPS)) for size in _sizes(quick)}
    most, store = (2, 200 * 2**20) if quick else (6, 4 * 2**30)
    with local_ray(device, store_bytes=store):
        with results.step("parts"):
            reader: Any = ray.remote(num_cpus=1)(_Reader).remote()
            parts = (_parts(case, envs, device, reader).items() for case, envs in sizes.items())
            alternate(results, dict(chain.from_iterable(parts)), most=most, seconds=12)
            ray.kill(reader)
        with results.step("CUDA IPC"), peers(1, make_reading, device) as (peer,):
            handed: dict[tuple[str, str], Work] = {
                ("CUDA IPC", case): partial(_hand_over, peer, _leaves(_batch(envs, device)), device)
                for case, envs in sizes.items()
            }
            alternate(results, handed, most=3 * most, seconds=3)
            del handed
        with results.step("whole path"):
            _whole_paths(results, sizes, device, most)


def _sizes(quick: bool) -> tuple[float, ...]:
    return QUICK_SIZES_MB if quick else SIZES_MB


def _batch(envs: int, device: str) -> TensorDictBase:
    """Return a rollout ``[envs, STEPS]`` on ``device`` that shares no memory with the environment."""
    with torch.no_grad():
        return Frames(envs, PIXELS, device).rollout(STEPS, policy().to(device)).contiguous().clone()


def _leaves(batch: TensorDictBase) -> list[Tensor]:
    return list(batch.values(include_nested=True, leaves_only=True))


def _parts(case: str, envs: int, device: str, reader: Any) -> dict[tuple[str, str], Work]:
    batch = _batch(envs, device)
    on_host = batch.cpu()
    leaves, pageable = _leaves(batch), _leaves(on_host)
    pinned = pinned_like(leaves, device)
    works: dict[str, Any] = {
        "device to pageable host": lambda: [leaf.cpu() for leaf in leaves],
        "device to pinned host": lambda: copy_all(pinned, leaves),
        "codec's encode of frames on the device": lambda: tensors.encode(batch),
        "codec's encode of frames on the host": lambda: tensors.encode(on_host),
        "ray.put of encoded frames": lambda: ray.put(_part(on_host)),
        "pageable host to device": lambda: [leaf.to(device) for leaf in pageable],
        "pinned host to device": lambda: [leaf.to(device, non_blocking=True) for leaf in pinned],
    }
    timed: dict[tuple[str, str], Work] = {
        (what, case): partial(milliseconds, work, device) for what, work in works.items()
    }
    return timed | {("ray.get in another process", case): partial(_read, reader, on_host)}


def _part(batch: TensorDictBase) -> Part:
    return Part(tensors.encode(batch), None, 1)


def _read(reader: Any, batch: TensorDictBase) -> Mapping[str, float]:
    # Ray would fetch a reference that is a plain argument before the call. It does not fetch a reference in a list.
    found: Mapping[str, float] = ray.get(reader.read.remote([ray.put(_part(batch))]), timeout=60)
    return found


class _Reader:
    """An actor that reads frames from the object store as a driver does, and returns its times."""

    def read(self, refs: list[Any]) -> Mapping[str, float]:
        began = time.perf_counter()
        part = ray.get(refs[0])
        got = time.perf_counter()
        copy = tensors.decode(part.encoded).clone()
        copied = time.perf_counter()
        del copy
        return {
            "ray.get in another process": (got - began) * 1e3,
            "decode and copy in another process": (copied - got) * 1e3,
        }


def _hand_over(peer: Peer, leaves: list[Tensor], device: str) -> Mapping[str, float]:
    synchronize(device)
    began = time.perf_counter()
    message = pickled(leaves)
    ready = time.perf_counter()
    peer.send_pickled(message)
    theirs: Mapping[str, float] = peer.answer()
    took = (time.perf_counter() - began) * 1e3
    return {"CUDA IPC: from reduction to the answer": took, "CUDA IPC: reduction": (ready - began) * 1e3, **theirs}


def _whole_paths(results: Results, sizes: Mapping[str, int], device: str, most: int) -> None:
    """Measure fleets of one collector, and TorchRL's collector in this process. Its frames stay on the device."""
    from torchrl.collectors import Collector

    from collectorfleet import FleetCollector

    share = 0.5 / (2 * len(sizes)) if is_gpu(device) else 0
    made: list[Any] = []
    works: dict[tuple[str, str], Work] = {}
    try:
        for case, envs in sizes.items():
            env, frames = partial(Frames, envs, PIXELS, device), envs * STEPS
            common: dict[str, Any] = {"frames_per_batch": frames, "total_frames": -1, "device": device}
            fleet = partial(
                FleetCollector, [env], policy(), **common, remote_configs={"num_cpus": 1, "num_gpus": share}
            )
            on_policy, ahead = fleet(sync=True, update_after_each_batch=True), fleet(sync=False)
            alone = Collector(env(), policy(), **common)
            made += (on_policy, ahead, alone)
            for what, collector, skipped, row in (
                ("rollout alone: TorchRL's collector in this process", alone, 0, 2),
                ("whole path, on-policy: publish, rollout and travel to the driver's device", on_policy, 0, 2),
                ("whole path, two requests in flight: between two batches", ahead, 3, 4),
            ):
                works[what, case] = partial(_row, what, iter(collector), device, skipped, row)
        alternate(results, works, most=max(1, most // 2), seconds=10)
    finally:
        for one in made:
            one.shutdown()


def _row(what: str, batches: Any, device: str, skipped: int, row: int) -> Mapping[str, list[float]]:
    """Return the milliseconds of ``row`` batches. First skip batches that were made during other measurements."""
    for _ in range(skipped):
        next(batches).to(device)
    return {what: [_next(batches, device) for _ in range(row)]}


def _next(batches: Any, device: str) -> float:
    return milliseconds(lambda: next(batches).to(device), device)
