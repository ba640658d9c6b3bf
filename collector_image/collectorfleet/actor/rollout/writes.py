"""Find out whether the policy wrote into its inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from torch import Tensor

# Comparing this number of bytes in each step takes less than a microsecond. For larger arrays, only 64 numbers are
# compared.
_COMPARED_BYTES: Final = 1024
_COMPARED_NUMBERS: Final = 64

Read = Callable[[], Any]


class Inputs:
    """The inputs of a policy in one frame, by key. ``arrays`` has the memory of ``tensors``.

    ``read`` returns a value that differs after a write into an input. The loop calls ``read`` in each step before and
    after the policy. After a policy the caches of the CPU are cold, so each further call would take long.
    """

    def __init__(self, tensors: Mapping[str, Tensor], arrays: Mapping[str, np.ndarray]) -> None:
        self._reads: dict[str, Read] = {key: _reader(tensor, arrays[key]) for key, tensor in tensors.items()}
        each = list(self._reads.values())
        self.read: Read = each[0] if len(each) == 1 else lambda: [read() for read in each]

    def changed(self, before: Any) -> list[str]:
        """Return the keys of the inputs that were written into since ``read`` returned ``before``."""
        values = [before] if len(self._reads) == 1 else before
        return [key for (key, read), value in zip(self._reads.items(), values, strict=True) if read() != value]

    def differs(self, before: Any) -> bool:
        """Return whether the bytes differ from the bytes in ``before``, an earlier result of ``read``."""
        now = self.read()
        if len(self._reads) == 1:
            now, before = [now], [before]
        return [_bytes_of(value) for value in now] != [_bytes_of(value) for value in before]


def _bytes_of(value: Any) -> bytes:
    found: bytes = value if isinstance(value, bytes) else value[0]
    return found


def _reader(tensor: Tensor, array: np.ndarray) -> Read:
    if array.nbytes <= _COMPARED_BYTES:
        # A memoryview copies bytes in half the time of an array.
        return array.reshape(-1).view(np.uint8).data.tobytes
    sample = array.reshape(-1)[:: -(-array.size // _COMPARED_NUMBERS)]
    # Torch's write count finds writes outside the sample, but not writes through ``.data`` or numpy.
    return lambda: (sample.tobytes(), tensor._version)


class WriteCounts:
    """Torch's write counts of ``tensors``, by key, when this object was created."""

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self._before = [(key, tensor, tensor._version) for key, tensor in tensors.items()]

    def changed(self) -> list[str]:
        """Return the keys of the tensors that were written into since this object was created."""
        return [key for key, tensor, count in self._before if tensor._version != count]
