"""Memory for batches that is used again, but never while anybody can still see it.

Fresh memory for a batch of 50 MB costs more time than filling it: the kernel clears it page by page. Each loan is an
array object of its own over pooled memory; the tensors made from it, and all views of them, keep that object alive,
and the memory comes back when it dies.
"""

from __future__ import annotations

import math
import weakref
from collections import defaultdict, deque

import numpy as np
import numpy.typing as npt
import torch

Memory = npt.NDArray[np.uint8]

# Below this the allocator is as fast.
SMALLEST_BYTES = 64 * 2**10
# Kept for each size: the batch that is filled, the one in use, and one that the consumer compares it with.
_MOST_FREE = 3


class BufferPool:
    """Any thread may take; memory comes back on whatever thread drops the last reference."""

    def __init__(self) -> None:
        self._free: defaultdict[int, deque[Memory]] = defaultdict(lambda: deque(maxlen=_MOST_FREE))
        self.reused = 0

    def empty(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """A tensor like ``torch.empty``; large ones lie in memory that was used before if there is some free."""
        size = math.prod(shape) * dtype.itemsize
        if size < SMALLEST_BYTES:
            return torch.empty(shape, dtype=dtype)
        try:
            memory = self._free[size].pop()
            self.reused += 1
        except IndexError:
            memory = np.empty(size, dtype=np.uint8)
        loan = memory.view()
        # A deque's append is atomic, so this may run anywhere, in the garbage collector too.
        weakref.finalize(loan, self._free[size].append, memory).atexit = False
        return torch.from_numpy(loan).view(dtype).view(shape)

    def free_bytes(self) -> int:
        """Memory that is kept for the next batch."""
        return sum(memory.nbytes for row in list(self._free.values()) for memory in list(row))
