"""Find out whether other code may write into a tensor, or has written into it."""

from __future__ import annotations

import sys
from typing import Final

import torch
from torch import Tensor

# The references to a tensor that the caller has given away: the parameter, and the argument of ``getrefcount``.
_REFERENCES: Final = 2


def owned(tensor: Tensor) -> Tensor:
    """Return the tensor if the caller gives away the only reference to it and to its memory, else a copy.

    A policy may return a view of its parameter, a tensor that it overwrites in each step, or memory of numpy.
    """
    alone = sys.getrefcount(tensor) <= _REFERENCES and count_sharers(tensor) == 1 and _memory_is_torchs(tensor)
    return tensor if alone else tensor.clone()


def count_sharers(tensor: Tensor) -> int:
    """Return the number of tensors that share the memory of this tensor, including itself."""
    # The storage object of this call counts as one more.
    shared: int = torch._C._storage_Use_Count(tensor.untyped_storage()._cdata)
    return shared - 1


def same_bytes(one: Tensor, other: Tensor) -> bool:
    """Return whether two tensors of one shape and dtype have the same bytes: NaN equals NaN, and -0.0 is not 0.0."""
    return torch.equal(_bytes(one), _bytes(other))


def _bytes(tensor: Tensor) -> Tensor:
    return tensor.resolve_conj().resolve_neg().contiguous().view(-1).view(torch.uint8)


def _memory_is_torchs(tensor: Tensor) -> bool:
    return tensor.untyped_storage().resizable()
