"""Memory for batches that is reused once no tensor refers to it.

Fresh memory for a batch of 50 MB costs more time than filling the memory, because the kernel clears it page by page.
The pool returns memory as a separate array object. The tensors made from the array, and all their views, keep the array
alive. The pool gets the memory back when the array is deleted.

Free memory and memory in use together are at most the largest amount that was in use after one of the last 256
requests. So batches of changing size leave no unused memory.
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

# For smaller tensors the allocator is as fast as the pool.
SMALLEST_BYTES = 64 * 2**10
# The number of recent requests that limit the free memory. A batch makes a few requests.
_LATELY = 256


class BufferPool:
    """A pool of memory for tensors.

    Any thread may take memory. The thread that drops the last reference returns the memory to the pool.
    """

    def __init__(self) -> None:
        self.reused = 0
        self._lock = threading.Lock()
        self._back: deque[Memory] = deque()  # returned, but not yet in _free
        self._free: OrderedDict[int, list[Memory]] = OrderedDict()  # by size, in the order of the last return
        self._free_bytes = 0
        self._loaned = 0
        self._most_loaned = LargestOfRecent(_LATELY)

    def empty(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """Return a tensor like ``torch.empty``. A large tensor reuses free memory of the same size if possible."""
        size = math.prod(shape) * dtype.itemsize
        if size < SMALLEST_BYTES:
            return torch.empty(shape, dtype=dtype)
        with self._lock:
            memory = self._lend(size)
        if memory is None:
            memory = np.empty(size, dtype=np.uint8)
        loan = memory.view()
        # A deque's append is atomic and takes no lock, so it may also run inside the garbage collector.
        weakref.finalize(loan, self._back.append, memory).atexit = False
        return torch.from_numpy(loan).view(dtype).view(shape)

    def free_bytes(self) -> int:
        """Return the bytes that the pool keeps for the next batch."""
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
        """Release free memory above the limit, the least recently returned sizes first."""
        while self._free_bytes + self._loaned > self._most_loaned.value:
            size, row = next(iter(self._free.items()))
            row.pop()
            self._free_bytes -= size
            if not row:
                del self._free[size]
