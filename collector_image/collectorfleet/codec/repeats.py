"""Observations that a rollout says twice: as the ``next`` of a step, and as what the following step begins with."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def differing(after: Array, before: Array, time: int) -> tuple[Array, Array] | None:
    """What of ``after`` is not ``before`` a step later, bit for bit: rows, and where they are (int64).

    Both are C-contiguous ``[..., time, *rest]`` of the same shape and dtype. None if more than half of the rows differ:
    it is not worth it then. Rows at the end of an episode and of the rollout may always differ.
    """
    lead, steps = int(np.prod(after.shape[:time], dtype=int)), after.shape[time]
    if not after.size:
        return None
    same = np.zeros((lead, steps), bool)
    following = _words(before, lead, steps)[:, 1:]
    same[:, :-1] = (_words(after, lead, steps)[:, :-1] == following).all(-1)
    where = np.flatnonzero(~same)
    if 2 * len(where) > same.size:
        return None
    return after.reshape(lead * steps, *after.shape[time + 1 :])[where], where


def repeated(before: Array, rows: Array, where: Array, time: int) -> Array:
    """The ``after`` that :func:`differing` was given, in memory of its own."""
    after = np.empty_like(before)
    earlier, later = [slice(None)] * time + [slice(-1)], [slice(None)] * time + [slice(1, None)]
    after[tuple(earlier)] = before[tuple(later)]
    after.reshape(-1, *before.shape[time + 1 :])[where] = rows
    return after


def _words(array: Array, lead: int, steps: int) -> Array:
    """``[lead, steps, words]`` of the same bytes, in words as large as divide a row."""
    row_bytes = array.nbytes // (lead * steps)
    word = next(size for size in (8, 4, 2, 1) if row_bytes % size == 0)
    return array.reshape(-1).view(f"u{word}").reshape(lead, steps, -1)
