"""A module's tensors as one flat buffer, and back.

One buffer makes one object in the store, whatever the number of tensors, and one digest. Parameters that are shared
between layers are in it once. Loading copies into the tensors that the module already has, so optimizers, compiled
graphs and views of them stay valid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch
import xxhash
from torch import Tensor, nn

# Every tensor begins at a multiple of this, so that its bytes can be viewed as any dtype.
_ALIGNMENT_BYTES = 64

Buffer = npt.NDArray[np.uint8]
Include = Callable[[str], bool]


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
    """A copy of tensors at one moment; ``buffer`` is uint8 and may be read-only.

    ``whole``: it has all tensors of the model, so that one that is missing is a mistake and not left out.
    """

    entries: tuple[Entry, ...]
    buffer: Buffer = field(repr=False)
    whole: bool = True

    def tensors(self) -> dict[str, Tensor]:
        """Views into the buffer, by name; not to be written to."""
        flat = torch.from_numpy(self.buffer)
        return {e.name: flat[e.offset_bytes :][: e.size_bytes].view(e.dtype).view(e.shape) for e in self.entries}


def tensors_of(module: nn.Module) -> dict[str, Tensor]:
    """All parameters and buffers of a module, each tensor once, under its first name."""
    named = [*module.named_parameters(), *module.named_buffers()]
    return {name: tensor.detach() for name, tensor in named}


def by_every_name(module: nn.Module) -> dict[str, Tensor]:
    """All parameters and buffers of a module; one that several layers share is there under each of its names."""
    named = [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]
    return {name: tensor.detach() for name, tensor in named}


def including(names: Sequence[str] | Include | None) -> Include:
    """Which tensors travel: those whose name begins with one of ``names``, or for which the callable says so."""
    if names is None:
        return lambda _name: True
    if callable(names):
        return names
    prefixes = tuple(names)
    return lambda name: name.startswith(prefixes)


def take(
    tensors: Mapping[str, Tensor],
    *,
    dtype: torch.dtype | None = None,
    names: Sequence[str] | Include | None = None,
    whole: bool = True,
) -> Snapshot:
    """Copy ``tensors`` into one buffer on the CPU. Blocks for one copy; nothing of the caller's is referenced.

    Floating tensors are cast to ``dtype`` if there is one; only what ``names`` includes is taken. ``whole``: these are
    all tensors that there are.
    """
    included = including(names)
    chosen = {name: tensor for name, tensor in tensors.items() if included(name)}
    entries = []
    end = 0
    for name, tensor in chosen.items():
        as_dtype = dtype if dtype is not None and tensor.is_floating_point() else tensor.dtype
        entries.append(Entry(name, as_dtype, tuple(tensor.shape), end))
        end = -(-(end + entries[-1].size_bytes) // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES
    snapshot = Snapshot(tuple(entries), np.empty(end, dtype=np.uint8), whole=whole and len(chosen) == len(tensors))
    with torch.no_grad():
        for name, view in snapshot.tensors().items():
            view.copy_(chosen[name])
    return snapshot


def load(snapshot: Snapshot, tensors: Mapping[str, Tensor]) -> None:
    """Copy a snapshot into ``tensors``, in place; what it does not have stays as it is.

    Raises:
        ValueError: a name is missing or a shape differs; nothing was changed then.
    """
    theirs = snapshot.tensors()
    for name in theirs.keys() - tensors.keys():
        raise ValueError(f"weights: the collector's policy has no tensor {name}; both sides need the same policy")
    covered = {tensors[name].data_ptr() for name in theirs}
    for name in [n for n, tensor in tensors.items() if tensor.data_ptr() not in covered] if snapshot.whole else ():
        raise ValueError(f"weights: the published weights have no tensor {name}; both sides need the same policy")
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
    """``xxh3:...`` of the tensors' bytes, in their order."""
    return _hash(snapshot.tensors().values())


def digest_of_loaded(entries: Sequence[Entry], tensors: Mapping[str, Tensor]) -> str:
    """The same of what a collector has now, in the dtypes that travelled: equal exactly if it has what was sent."""
    return _hash(tensors[entry.name].to(device="cpu", dtype=entry.dtype) for entry in entries)


def _hash(tensors: object) -> str:
    # Not cryptographic: this tells a mistake, not an attack, and takes a tenth of the time of SHA-256.
    hashed = xxhash.xxh3_128()
    for tensor in tensors:  # type: ignore[attr-defined]
        flat = tensor.detach().contiguous().view(-1)
        hashed.update(flat.view(torch.uint8).numpy().data)
    return "xxh3:" + hashed.hexdigest()
