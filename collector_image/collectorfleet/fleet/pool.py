"""Memory for batches that is used again, but never while anybody can still see it.

Fresh memory for a batch of 50 MB costs more time than filling it: the kernel clears it page by page. Each loan is an
array object of its own over pooled memory. The tensors made from it, and all views of them, keep that object alive. The
memory comes back when the object dies.

Free and lent memory together are at most what was lately lent at once. So batches of changing size leave no unused
memory.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections import OrderedDict, deque

import numpy as np
import numpy.typing as npt
import torch

from collectorfleet.recent import LargestOfRecent

Memory = npt.NDArray[np.uint8]

# Below this the allocator is as fast.
SMALLEST_BYTES = 64 * 2**10
# So many loans are lately: a batch is a few of them.
_LATELY = 256


class BufferPool:
    """Any thread may take; memory comes back on whatever thread drops the last reference."""

    def __init__(self) -> None:
        self.reused = 0
        self._lock = threading.Lock()
        self._back: deque[Memory] = deque()  # and not looked at yet
        self._free: OrderedDict[int, list[Memory]] = OrderedDict()  # by size; the size that came back last is last
        self._free_bytes = 0
        self._loaned = 0
        self._most_loaned = LargestOfRecent(_LATELY)

    def empty(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """A tensor like ``torch.empty``; large ones lie in memory that was used before if there is some free."""
        size = math.prod(shape) * dtype.itemsize
        if size < SMALLEST_BYTES:
            return torch.empty(shape, dtype=dtype)
        with self._lock:
            memory = self._lend(size)
        if memory is None:
            memory = np.empty(size, dtype=np.uint8)
        loan = memory.view()
        # A deque's append is atomic and takes no lock, so this may run anywhere, in the garbage collector too.
        weakref.finalize(loan, self._back.append, memory).atexit = False
        return torch.from_numpy(loan).view(dtype).view(shape)

    def free_bytes(self) -> int:
        """Memory that is kept for the next batch."""
        with self._lock:
            self._take_back()
            return self._free_bytes

    def _lend(self, size: int) -> Memory | None:
        self._take_back()
        row = self._free.get(size)
        memory = row.pop() if row else None
        if row is not None and not row:
            del self._free[size]
        if memory is not None:
            self.reused += 1
            self._free_bytes -= size
        self._loaned += size
        self._most_loaned.note(self._loaned)
        self._let_go()
        return memory

    def _take_back(self) -> None:
        while self._back:
            memory = self._back.popleft()
            size = memory.nbytes
            self._loaned -= size
            self._free_bytes += size
            self._free.setdefault(size, []).append(memory)
            self._free.move_to_end(size)

    def _let_go(self) -> None:
        """Of the sizes that were not used for longest."""
        while self._free_bytes + self._loaned > self._most_loaned.value:
            size, row = next(iter(self._free.items()))
            row.pop()
            self._free_bytes -= size
            if not row:
                del self._free[size]
