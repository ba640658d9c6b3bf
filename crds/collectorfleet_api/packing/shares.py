"""Into how many equal shares a Sync batch is split.

``framesPerBatch`` 4000 and 5 collectors: 5 shares of 800 frames. After scaling to 6, which does not divide 4000:
8 shares of 500, which 6 collectors work off between them. Fewer shares than collectors would leave some idle.
"""

from __future__ import annotations


def shares(frames_per_batch: int, replicas: int, per_collector: int = 1) -> int:
    """Shares of one Sync batch: ``replicas`` where that divides, else the next larger number that does.

    ``per_collector`` environments step together, so a share is a multiple of it. With more replicas than there
    are possible shares, the largest possible number: the collectors beyond it idle. Raises ValueError where
    ``frames_per_batch`` itself is no multiple of ``per_collector``.
    """
    steps, rest = divmod(frames_per_batch, per_collector)
    if rest:
        raise ValueError(f"{frames_per_batch} frames are not a multiple of {per_collector} environments")
    return next((n for n in range(replicas, steps) if steps % n == 0), steps)


def fewer(frames_per_batch: int, replicas: int, per_collector: int = 1) -> int:
    """The largest number of shares that divides the batch and is at most ``replicas``; at least 1."""
    return next((n for n in range(replicas, 1, -1) if divides(frames_per_batch, n, per_collector)), 1)


def divides(frames_per_batch: int, replicas: int, per_collector: int = 1) -> bool:
    """Whether every one of ``replicas`` shares has the same number of frames, a multiple of ``per_collector``."""
    return frames_per_batch % (replicas * per_collector) == 0
