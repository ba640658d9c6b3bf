"""Measure tensors, to know how much room their dump needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from tensordict import TensorDictBase


def tensor_bytes(data: Any) -> int:
    """Return the size of all tensors in nested containers, in bytes. A dump of ``data`` has about this size."""
    match data:
        case torch.Tensor():
            return data.numel() * data.element_size()
        case TensorDictBase():
            return int(data.bytes())
        case Mapping():
            return sum(tensor_bytes(one) for one in data.values())
        case list() | tuple():
            return sum(tensor_bytes(one) for one in data)
        case _:
            return 0
