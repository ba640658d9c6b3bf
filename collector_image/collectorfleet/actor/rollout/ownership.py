"""Find out whether other code can write into a tensor, or has written into a tensor."""

from __future__ import annotations

import sys
from typing import Final

import torch
from torch import Tensor

# The number of references in :func:`owned` itself: its parameter, and the argument of ``getrefcount``.
_REFERENCES: Final = 2


def owned(tensor: Tensor) -> Tensor:
    """Return the tensor if no other code refers to the tensor or its memory. Otherwise return a copy.

    The caller must not keep a reference to the tensor during the call. Some policies return a view of their parameters,
    memory of numpy, or a tensor that they overwrite in each step. Such a tensor must be copied.
    """
    alone = sys.getrefcount(tensor) <= _REFERENCES and count_sharers(tensor) == 1 and _memory_is_torchs(tensor)
    return tensor if alone else tensor.clone()


def count_sharers(tensor: Tensor) -> int:
    """Return the number of tensors that use the memory of this tensor, including this tensor."""
    # ``untyped_storage()`` in this call is one more user of the memory, so subtract 1.
    shared: int = torch._C._storage_Use_Count(tensor.untyped_storage()._cdata)
    return shared - 1


def same_bytes(one: Tensor, other: Tensor) -> bool:
    """Return whether two tensors of the same shape and dtype have the same bytes.

    In this comparison NaN equals NaN, and -0.0 differs from 0.0.
    """
    return torch.equal(_bytes(one), _bytes(other))


def _bytes(tensor: Tensor) -> Tensor:
    return tensor.resolve_conj().resolve_neg().contiguous().view(-1).view(torch.uint8)


def _memory_is_torchs(tensor: Tensor) -> bool:
    return tensor.untyped_storage().resizable()
