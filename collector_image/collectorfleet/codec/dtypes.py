"""Find out whether a dtype can represent every value of another dtype. If so, a cast and the cast back are exact."""

from __future__ import annotations

import torch


def holds(into: torch.dtype, of: torch.dtype) -> bool:
    """Return whether ``into`` can represent every value of ``of``."""
    if into == of or of == torch.bool:
        return True
    try:
        return _holds(into, of)
    except (TypeError, NotImplementedError, RuntimeError):
        return False  # torch has no information about quantized dtypes


def _holds(into: torch.dtype, of: torch.dtype) -> bool:
    if into == torch.bool or (of.is_complex and not into.is_complex):
        return False
    if _is_integer(of):
        return _holds_integers(into, of)
    if _is_integer(into):
        return False
    wide, narrow = torch.finfo(into), torch.finfo(of)
    finest = wide.smallest_normal * wide.eps <= narrow.smallest_normal * narrow.eps
    return wide.eps <= narrow.eps and wide.max >= narrow.max and finest


def _holds_integers(into: torch.dtype, of: torch.dtype) -> bool:
    needed = torch.iinfo(of)
    if _is_integer(into):
        there = torch.iinfo(into)
        return there.min <= needed.min and needed.max <= there.max
    # A float dtype represents every whole number up to 2 / eps exactly.
    return needed.max <= min(2 / torch.finfo(into).eps, torch.finfo(into).max)


def _is_integer(dtype: torch.dtype) -> bool:
    return not (dtype.is_floating_point or dtype.is_complex)
