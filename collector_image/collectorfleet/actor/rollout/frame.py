"""What environments and transforms say at one time, as arrays for the loop and as tensors for the policy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor


class Frame:
    """One array ``[environments, *shape]`` for each key; ``tensors`` are the same memory in the environment's shape.

    ``batched`` is False for an environment without batch size: its tensors have no first dimension.
    """

    def __init__(self, like: Mapping[str, Tensor], *, batched: bool) -> None:
        self.tensors = {key: torch.empty_like(tensor) for key, tensor in like.items()}
        self.arrays: dict[str, np.ndarray] = {
            key: (tensor if batched else tensor.unsqueeze(0)).numpy() for key, tensor in self.tensors.items()
        }

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        for key, tensor in self.tensors.items():
            tensor.copy_(tensors[key])

    def writes(self) -> int:
        """Grows whenever torch, and so the policy, writes into a tensor; what is written as an array is not counted."""
        return sum(tensor._version for tensor in self.tensors.values())
