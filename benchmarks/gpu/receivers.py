"""The answers of processes that receive tensors. The module imports only torch, so that the processes start fast."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from benchmarks.gpu.devices import copy_all, milliseconds, synchronize
from benchmarks.gpu.processes import Answer


def make_reading(index: int, device: str) -> Answer:
    """Return a function that reads the received tensors without a copy, and returns its times in milliseconds."""
    synchronize(device)

    def read(handed: list[Tensor], opened_ms: float) -> Mapping[str, float]:
        reading = milliseconds(lambda: [tensor.view(-1).sum() for tensor in handed], device)
        return {"CUDA IPC: opened": opened_ms, "CUDA IPC: read by one kernel for each tensor": reading}

    return read


def make_loading(index: int, device: str, shapes: list[tuple[int, ...]]) -> Answer:
    """Return a function that copies the received tensors into its own, and returns the milliseconds of unpickling."""
    own = [torch.zeros(shape, device=device) for shape in shapes]

    def load(handed: list[Tensor], opened_ms: float) -> float:
        copy_all(own, handed)
        synchronize(device)
        return opened_ms

    return load
