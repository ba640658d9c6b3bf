"""Convert the tensors of a module to arrays of bytes and back.

A snapshot is one object in the transport's store, and has one digest. If layers share a parameter, the snapshot
contains the parameter once. Loading copies the values into the existing tensors of the module. So optimizers, compiled
graphs and views stay valid.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
import xxhash
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from collectorfleet.codec.dtypes import holds
from collectorfleet.codec.host import on_the_host
from collectorfleet.errors import InvalidOption

Bytes = npt.NDArray[np.uint8]
Include = Callable[[str], bool]


class Entry(NamedTuple):
    """The name, dtype and shape of one tensor in a snapshot."""

    name: str
    dtype: torch.dtype
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Snapshot:
    """Tensors as bytes: ``arrays`` has one uint8 array for each of ``entries``. The arrays may be read-only.

    ``whole`` tells whether the snapshot was made from all tensors of the model. If so, loading raises an error if a
    required tensor is missing. ``policy_version`` is the publisher's own count for TorchRL's ``PolicyVersion``. None:
    the publisher has no count.
    """

    entries: tuple[Entry, ...]
    arrays: list[Bytes] = field(repr=False)
    whole: bool = True
    policy_version: int | None = None

    @property
    def size_bytes(self) -> int:
        """Return the total size of the arrays, in bytes."""
        return sum(array.nbytes for array in self.arrays)

    def __reduce__(self) -> tuple[Any, ...]:
        # The fields of all entries are pickled as columns, and the arrays as buffers. Pickling one object for each
        # tensor would take three times as long.
        return _restored, (
            *_columns(self.entries),
            [pickle.PickleBuffer(array.data) for array in self.arrays],
            self.whole,
            self.policy_version,
        )


def _columns(entries: Sequence[Entry]) -> tuple[Sequence[Any], ...]:
    return tuple(zip(*entries, strict=True)) if entries else ((), (), ())


def _restored(
    names: Sequence[str],
    dtypes: Sequence[torch.dtype],
    shapes: Sequence[tuple[int, ...]],
    buffers: Sequence[Any],
    whole: bool,
    policy_version: int | None,
) -> Snapshot:
    arrays = [np.frombuffer(buffer, np.uint8) for buffer in buffers]
    return Snapshot(tuple(map(Entry, names, dtypes, shapes)), arrays, whole, policy_version)


# A snapshot without weights. A fleet without weights publishes this snapshot to send only the normalization.
EMPTY_SNAPSHOT: Final = Snapshot((), [], whole=False)


def tensors_of(module: nn.Module, prefer: Include = lambda _name: True) -> dict[str, Tensor]:
    """Return all parameters and buffers of a module by name. Each tensor occurs once.

    If layers share a tensor, the tensor has several names. The result has the first of these names that ``prefer``
    selects. If ``prefer`` selects none of them, the result has the first name.
    """
    named = [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]
    names: dict[int, str] = {}
    for name, tensor in named:
        known = names.get(id(tensor))
        if known is None or (prefer(name) and not prefer(known)):
            names[id(tensor)] = name
    return {name: with_values(name, tensor) for name, tensor in named if names[id(tensor)] == name}


def by_every_name(module: nn.Module) -> dict[str, Tensor]:
    """Return all parameters and buffers of a module. A tensor that layers share occurs under each of its names."""
    named = [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]
    return {name: with_values(name, tensor) for name, tensor in named}


def not_in_state_dicts(module: nn.Module) -> frozenset[str]:
    """Return the names of those buffers that the module's ``state_dict()`` leaves out."""
    return frozenset(
        f"{path}.{name}" if path else name
        for path, inner in module.named_modules(remove_duplicate=False)
        for name in inner._non_persistent_buffers_set
    )


def with_values(name: str, tensor: Tensor) -> Tensor:
    """Return the tensor without its autograd graph. Raises InvalidOption if the tensor has no values."""
    if is_lazy(tensor):
        raise InvalidOption(
            f"weights: {name} has no shape yet, because no data went through its module; first call the policy once "
            "with data of the environment"
        )
    if tensor.is_meta:
        raise InvalidOption(
            f"weights: {name} is on the meta device and has no values; first call module.to_empty(device='cpu'), and "
            "then initialize or load the weights"
        )
    return tensor.detach()


def including(names: Sequence[str] | Include | None) -> Include:
    """Return a function that selects names of tensors.

    If ``names`` is a function, return this function. Otherwise a name is selected if it begins with one of ``names``.
    None selects all names.
    """
    if names is None:
        return lambda _name: True
    if callable(names):
        return names
    # A string counts as one prefix, although it is a sequence.
    prefixes = (names,) if isinstance(names, str) else tuple(names)
    return lambda name: name.startswith(prefixes)


def take(
    tensors: Mapping[str, Tensor],
    *,
    dtype: torch.dtype | None = None,
    names: Sequence[str] | Include | None = None,
    whole: bool = True,
) -> Snapshot:
    """Return the bytes of ``tensors`` as a snapshot.

    The snapshot references contiguous CPU tensors and does not copy them. So store the snapshot before these tensors
    change. Floating-point tensors with more bytes per number than ``dtype`` are cast to ``dtype``. The snapshot
    includes only tensors that ``names`` selects, see :func:`including`. Pass False as ``whole`` if ``tensors`` lacks
    tensors of the model.
    """
    included = including(names)
    chosen = {name: tensor for name, tensor in tensors.items() if included(name)}
    entries = [Entry(name, dtype_in_snapshot(tensor, dtype), tuple(tensor.shape)) for name, tensor in chosen.items()]
    cast = [tensor.to(entry.dtype) for entry, tensor in zip(entries, chosen.values(), strict=True)]
    arrays = [bytes_of(tensor.contiguous()) for tensor in on_the_host(cast)]
    return Snapshot(tuple(entries), arrays, whole=whole and len(chosen) == len(tensors))


def dtype_in_snapshot(tensor: Tensor, dtype: torch.dtype | None) -> torch.dtype:
    """Return the dtype that ``tensor`` has in a snapshot, if :func:`take` makes the snapshot with ``dtype``."""
    if dtype is None or not tensor.is_floating_point() or dtype.itemsize >= tensor.dtype.itemsize:
        return tensor.dtype  # a cast to the same number of bytes or more saves nothing
    return dtype


def rounding(name: str, published: torch.dtype, loaded: torch.dtype) -> str | None:
    """Return an error message if a collector's policy cannot represent every published value of a tensor, else None.

    Such a policy would use rounded weights, and the digest of its tensors would differ from the published digest.
    """
    if holds(loaded, published):
        return None
    return (
        f"weights: {name} is published as {published}, but the collectors' policy would round it to {loaded}; publish "
        f"{name} as {loaded}, or build the policy with {published}"
    )


def bytes_of(tensor: Tensor) -> Bytes:
    """Return the bytes of a contiguous CPU tensor, without a copy."""
    found: Bytes = tensor.detach().view(-1).view(torch.uint8).numpy()
    return found


def tensor_of(entry: Entry, array: Bytes) -> Tensor:
    """Return ``array`` as the tensor that ``entry`` describes, without a copy. Do not write to the tensor."""
    if not array.size:
        return torch.empty(entry.shape, dtype=entry.dtype)  # torch cannot view an empty array whose stride is 0
    return torch.from_numpy(array).view(entry.dtype).view(entry.shape)


def copied(snapshot: Snapshot) -> Snapshot:
    """Return a copy of the snapshot in new memory."""
    return replace(snapshot, arrays=[array.copy() for array in snapshot.arrays])


def tensors_by_name(snapshot: Snapshot) -> dict[str, Tensor]:
    """Return copies of all tensors in a snapshot, by name."""
    pairs = zip(snapshot.entries, snapshot.arrays, strict=True)
    return {entry.name: tensor_of(entry, array).clone() for entry, array in pairs}


def digest(arrays: Iterable[Bytes]) -> str:
    """Return the digest ``xxh3:...`` of the arrays in order.

    Each array is hashed before the next array is requested from the iterator.
    """
    # The digest has to detect errors, not attacks. It takes a tenth of the time of SHA-256.
    hashed = xxhash.xxh3_128()
    for array in arrays:
        hashed.update(array.data)
    return "xxh3:" + hashed.hexdigest()
