"""A module's tensors as one flat buffer, and back.

One buffer makes one object in the store, whatever the number of tensors, and one digest. Parameters that are shared
between layers are in it once. Loading copies into the tensors that the module already has, so optimizers, compiled
graphs and views of them stay valid.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

# Every tensor begins at a multiple of this, so that its bytes can be viewed as any dtype.
_ALIGNMENT_BYTES = 64

Buffer = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Entry:
    """Where one tensor lies in the buffer."""

    name: str
    dtype: torch.dtype
    shape: tuple[int, ...]
    offset_bytes: int

    @property
    def size_bytes(self) -> int:
        return self.dtype.itemsize * int(np.prod(self.shape, dtype=np.int64))


@dataclass(frozen=True)
class Snapshot:
    """A copy of all tensors at one moment; ``buffer`` is uint8 and may be read-only."""

    entries: tuple[Entry, ...]
    buffer: Buffer = field(repr=False)

    def tensors(self) -> dict[str, torch.Tensor]:
        """Views into the buffer, by name; not to be written to."""
        flat = torch.from_numpy(self.buffer)
        return {e.name: flat[e.offset_bytes :][: e.size_bytes].view(e.dtype).view(e.shape) for e in self.entries}


def tensors_of(module: nn.Module) -> dict[str, torch.Tensor]:
    """All parameters and buffers of a module, each tensor once, under its first name."""
    named = [*module.named_parameters(), *module.named_buffers()]
    return {name: tensor.detach() for name, tensor in named}


def take(tensors: Mapping[str, torch.Tensor]) -> Snapshot:
    """Copy ``tensors`` into one buffer on the CPU. Blocks for one copy; nothing of the caller's is referenced."""
    entries = []
    end = 0
    for name, tensor in tensors.items():
        entries.append(Entry(name, tensor.dtype, tuple(tensor.shape), end))
        end = -(-(end + entries[-1].size_bytes) // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES
    # Zeros, not whatever was there: the gaps between tensors are part of the digest.
    snapshot = Snapshot(tuple(entries), np.zeros(end, dtype=np.uint8))
    for name, view in snapshot.tensors().items():
        view.copy_(tensors[name])
    return snapshot


def load(snapshot: Snapshot, tensors: Mapping[str, torch.Tensor]) -> None:
    """Copy a snapshot into ``tensors``, in place.

    Raises:
        ValueError: a name is missing or a shape differs; nothing was changed then.
    """
    theirs = snapshot.tensors()
    for missing in [*(theirs.keys() - tensors.keys()), *(tensors.keys() - theirs.keys())]:
        side = "published weights" if missing in tensors else "collector's policy"
        raise ValueError(f"weights: the {side} have no tensor {missing}; both sides need the same policy")
    for name, source in theirs.items():
        if source.shape != tensors[name].shape:
            raise ValueError(
                f"weights: {name} is {tuple(source.shape)} as published and {tuple(tensors[name].shape)} in the "
                "collector's policy; both sides need the same policy"
            )
    with torch.no_grad():
        for name, source in theirs.items():
            tensors[name].copy_(source)


def digest(snapshot: Snapshot) -> str:
    """``sha256:...`` of the buffer."""
    return "sha256:" + hashlib.sha256(snapshot.buffer.data).hexdigest()
