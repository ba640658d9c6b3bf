"""Computes the number of equal shares of a Sync batch.

For example, with ``framesPerBatch`` 4000 and 5 collectors, a batch has 5 shares of 800 frames. The number 6 does not
divide 4000. So after scaling to 6 collectors, a batch has 8 shares of 500 frames. With fewer shares than collectors,
some collectors would be idle.
"""

from __future__ import annotations


def shares(frames_per_batch: int, replicas: int, per_collector: int = 1) -> int:
    """Return the number of shares of one Sync batch: ``replicas``, or the next larger number that divides the batch.

    ``per_collector`` environments step together, so the frames of a share are a multiple of this number. If
    fewer than ``replicas`` shares are possible, return the number of possible shares. The remaining collectors are
    idle. Raises ValueError if ``frames_per_batch`` is not a multiple of ``per_collector``.
    """
    steps, rest = divmod(frames_per_batch, per_collector)
    if rest:
        raise ValueError(f"{frames_per_batch} frames are not a multiple of {per_collector} environments")
    return next((n for n in range(replicas, steps) if steps % n == 0), steps)


def fewer(frames_per_batch: int, replicas: int, per_collector: int = 1) -> int:
    """Return the largest number of shares up to ``replicas`` that divides the batch. It is at least 1."""
    return next((n for n in range(replicas, 1, -1) if divides(frames_per_batch, n, per_collector)), 1)


def divides(frames_per_batch: int, replicas: int, per_collector: int = 1) -> bool:
    """Return whether a batch has ``replicas`` equal shares whose frames are a multiple of ``per_collector``."""
    return frames_per_batch % (replicas * per_collector) == 0
