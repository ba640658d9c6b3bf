"""Whether anybody else may write into a tensor."""

from __future__ import annotations

import sys
from typing import Final

import torch
from torch import Tensor

# The argument, and what ``getrefcount`` is given.
_REFERENCES: Final = 2


def owned(tensor: Tensor) -> Tensor:
    """The tensor if the caller gives away the only reference to it and to its memory, else a copy.

    A policy may return a view of its parameter, a tensor that it fills again in each step, or memory of numpy.
    """
    alone = sys.getrefcount(tensor) <= _REFERENCES and count_sharers(tensor) == 1 and _memory_is_torchs(tensor)
    return tensor if alone else tensor.clone()


def count_sharers(tensor: Tensor) -> int:
    """How many tensors share the memory of this one, itself included."""
    # The storage that is asked for is one more.
    shared: int = torch._C._storage_Use_Count(tensor.untyped_storage()._cdata)
    return shared - 1


def _memory_is_torchs(tensor: Tensor) -> bool:
    return tensor.untyped_storage().resizable()
