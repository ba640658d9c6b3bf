"""Memory for batches. As soon as no tensor refers to the memory of a batch, the memory is reused.

Allocating 50 MB for a batch takes more time than filling this memory, because the kernel clears new memory page by
page. The pool makes an array object for the memory, and a tensor from the array. The tensor and all views of the tensor
keep the array object alive. When the array object is deleted, the pool gets the memory back.

The pool limits its free memory. Free memory and used memory together are at most the largest amount of used memory in
the last 256 requests. So the pool keeps no memory for batch sizes that no longer occur.
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

# The pool is not used for smaller tensors, because torch allocates them as fast as the pool.
SMALLEST_BYTES = 64 * 2**10
# The number of recent requests that determine the limit of free memory. Each batch needs a few requests.
_LATELY = 256


class BufferPool:
    """A pool of memory for tensors.

    Any thread may request memory. The thread that drops the last reference to the memory returns the memory to the
    pool.
    """

    def __init__(self) -> None:
        self.reused = 0
        self._lock = threading.Lock()
        self._returned: deque[Memory] = deque()  # not yet in _free
        self._free: OrderedDict[int, list[Memory]] = OrderedDict()  # by size, in the order of the last return
        self._free_bytes = 0
        self._used_bytes = 0
        self._peak_used = LargestOfRecent(_LATELY)

    def empty(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """Return a tensor like ``torch.empty``.

        If the pool has free memory of the right size, the tensor uses this memory.
        """
        size = math.prod(shape) * dtype.itemsize
        if size < SMALLEST_BYTES:
            return torch.empty(shape, dtype=dtype)
        with self._lock:
            memory = self._acquire(size)
        if memory is None:
            memory = np.empty(size, dtype=np.uint8)
        array = memory.view()
        # ``append`` of a deque is atomic and acquires no lock. So the garbage collector may call it.
        weakref.finalize(array, self._returned.append, memory).atexit = False
        return torch.from_numpy(array).view(dtype).view(shape)

    def free_bytes(self) -> int:
        """Return the number of free bytes in the pool."""
        with self._lock:
            self._reclaim()
            return self._free_bytes

    def _acquire(self, size: int) -> Memory | None:
        self._reclaim()
        row = self._free.get(size)
        memory = row.pop() if row else None
        if row is not None and not row:
            del self._free[size]
        if memory is not None:
            self.reused += 1
            self._free_bytes -= size
        self._used_bytes += size
        self._peak_used.note(self._used_bytes)
        self._trim()
        return memory

    def _reclaim(self) -> None:
        while self._returned:
            memory = self._returned.popleft()
            size = memory.nbytes
            self._used_bytes -= size
            self._free_bytes += size
            self._free.setdefault(size, []).append(memory)
            self._free.move_to_end(size)

    def _trim(self) -> None:
        """Free unused memory until the pool is within its limit.

        Memory of the size that was returned longest ago is freed first.
        """
        while self._free_bytes + self._used_bytes > self._peak_used.value:
            size, row = next(iter(self._free.items()))
            row.pop()
            self._free_bytes -= size
            if not row:
                del self._free[size]
