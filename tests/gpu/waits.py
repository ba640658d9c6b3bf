"""What tests of a fleet on a GPU wait for, and read from its batches and its status."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from tensordict import TensorDictBase
from tests.wait import eventually
from torch import nn


def row(collector: Any, name: str) -> Any:
    """Return the status of the collector ``name``."""
    return next(one for one in collector.status().collectors if one.name == name)


def read_until(batches: Iterator[TensorDictBase], reached: Callable[[], bool], what: str) -> None:
    """Read batches until ``reached()``; blocks for at most 120 s and one batch."""
    eventually(lambda: next(batches) is not None and reached(), within=120, every=0, what=what)


def grow(policy: nn.Module) -> None:
    """Add 1 to the policy's parameter: version ``n`` has the value ``n`` if each one is published."""
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(1)


def numbers(tensor: torch.Tensor) -> list[float]:
    """Return the different values in ``tensor``, in order."""
    return sorted(set(tensor.flatten().tolist()))
