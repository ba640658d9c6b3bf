"""Functions that differ between a GPU and the CPU. On the CPU the same measurements run with small sizes."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor


def is_gpu(device: str) -> bool:
    return torch.device(device).type == "cuda"


def synchronize(device: str) -> None:
    """Block until the device has finished its work."""
    if is_gpu(device):
        torch.cuda.synchronize(device)


def milliseconds(work: Callable[[], Any], device: str) -> float:
    """Return the milliseconds until the device has finished ``work``, without the time to free the result."""
    synchronize(device)
    began = time.perf_counter()
    kept = work()
    synchronize(device)
    took = time.perf_counter() - began
    del kept
    return took * 1e3


def pinned_like(tensors: Iterable[Tensor], device: str) -> list[Tensor]:
    """Return empty host tensors of the same shapes, pinned if ``device`` is a GPU."""
    return [torch.empty(t.shape, dtype=t.dtype, pin_memory=is_gpu(device)) for t in tensors]


def copy_all(into: Iterable[Tensor], tensors: Iterable[Tensor]) -> None:
    """Copy each tensor into its target. The copies do not block if the host's memory is pinned."""
    for one, tensor in zip(into, tensors, strict=True):
        one.copy_(tensor, non_blocking=True)


def side_stream(device: str) -> Any:
    """Return a new stream, or None on the CPU."""
    cuda: Any = torch.cuda
    return cuda.Stream(device) if is_gpu(device) else None


def on_stream(stream: Any) -> contextlib.AbstractContextManager[Any]:
    """Run the work of the block on ``stream``, after the work of the current stream."""
    if stream is None:
        return contextlib.nullcontext()
    stream.wait_stream(torch.cuda.current_stream())
    return torch.cuda.stream(stream)


def register(tensor: Tensor, device: str) -> bool:
    """Pin the memory of a tensor that processes share. Return whether CUDA pinned it."""
    if not is_gpu(device):
        return False
    cuda: Any = torch.cuda
    if int(cuda.cudart().cudaHostRegister(tensor.data_ptr(), tensor.nbytes, 0)) == 0:
        return True
    # CUDA reports this error again at the next call, so make one. Copies work without pinned memory.
    with contextlib.suppress(RuntimeError):
        torch.zeros(1, device=device).add_(1)
    return False


def describe(device: str) -> str:
    """Return the name of the device and the versions, without a name of the machine."""
    name = torch.cuda.get_device_name(device) if is_gpu(device) else "CPU only"
    room = shutil.disk_usage("/dev/shm").total / 2**30
    return f"{name}, {os.cpu_count()} cores, torch {torch.__version__}, {room:.1f} GiB of /dev/shm"


@contextlib.contextmanager
def local_ray(device: str, *, store_bytes: int, cpus: int = 16) -> Iterator[None]:
    """Start Ray with the settings of a fleet, and one GPU if ``device`` is a GPU. Stop Ray after the block."""
    import ray

    from collectorfleet_api import ray_settings

    os.environ.update(ray_settings.environment())
    ray.init(
        num_cpus=cpus,
        num_gpus=int(is_gpu(device)),
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=store_bytes,
    )
    try:
        yield
    finally:
        ray.shutdown()
