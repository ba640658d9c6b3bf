"""Leave out repeated observations. A rollout has them in ``next`` of one step, and at the start of the next step."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def differing(after: Array, before: Array, time: int) -> tuple[Array, Array] | None:
    """Compare each row of ``after`` with the row one step later in ``before``. Return the differing rows of ``after``.

    The second result has the indexes of these rows, int64. ``after`` and ``before`` are C-contiguous arrays ``[...,
    time, *rest]`` of the same shape and dtype. Rows differ if any bit differs. If more than half of the rows differ,
    the result is None, because leaving out the equal rows would save too little. The last row of a rollout has no next
    step, so it counts as different. The last row of an episode usually differs, because the next step begins a new
    episode.
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
    """Restore the array ``after`` from ``before``, in new memory.

    ``rows`` and ``where`` are the two results of :func:`differing` for this array.
    """
    after = np.empty_like(before)
    earlier, later = [slice(None)] * time + [slice(-1)], [slice(None)] * time + [slice(1, None)]
    after[tuple(earlier)] = before[tuple(later)]
    after.reshape(-1, *before.shape[time + 1 :])[where] = rows
    return after


def _words(array: Array, lead: int, steps: int) -> Array:
    """Return the bytes of ``array`` as integers ``[lead, steps, words]``.

    Each integer has 8, 4, 2 or 1 bytes: the largest of these sizes that divides the bytes of a row.
    """
    row_bytes = array.nbytes // (lead * steps)
    word = next(size for size in (8, 4, 2, 1) if row_bytes % size == 0)
    return array.reshape(-1).view(f"u{word}").reshape(lead, steps, -1)
