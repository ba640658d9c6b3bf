"""Packs arrays into one tensor of bytes, and returns them as views without a copy.

Each message has a fixed cost, however small it is. A policy may have hundreds of tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from torch import Tensor

from collectorfleet.codec.tensors import Array

# This alignment suits every dtype and vector instructions.
_ALIGNMENT: Final = 64


@dataclass(frozen=True, slots=True)
class Layout:
    """The offset, dtype and shape of each array."""

    places: tuple[tuple[int, str, tuple[int, ...]], ...]
    size_bytes: int

    @classmethod
    def of(cls, arrays: Sequence[Array]) -> Layout:
        places, size = [], 0
        for array in arrays:
            places.append((size, array.dtype.str, array.shape))
            size += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
        return cls(tuple(places), size)

    def views(self, packed: Tensor) -> list[Array]:
        """Return the arrays as views of ``packed``, a uint8 tensor of shape ``[size_bytes]``."""
        memory = packed.numpy()
        return [_view(memory, begin, np.dtype(dtype), shape) for begin, dtype, shape in self.places]


def pack(arrays: Sequence[Array]) -> tuple[Layout, Tensor]:
    """Copy the arrays into one new tensor. Return its layout and the tensor."""
    layout = Layout.of(arrays)
    packed = torch.empty(layout.size_bytes, dtype=torch.uint8)
    for view, array in zip(layout.views(packed), arrays, strict=True):
        view[...] = array
    return layout, packed


def _view(memory: Array, begin: int, dtype: np.dtype, shape: tuple[int, ...]) -> Array:
    count = int(np.prod(shape, dtype=np.int64))
    return memory[begin : begin + count * dtype.itemsize].view(dtype).reshape(shape)
