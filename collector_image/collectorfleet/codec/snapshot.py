"""A module's tensors as arrays of bytes, and back.

All arrays of a snapshot make one object in the store and one digest, whatever their number. Parameters that are shared
between layers are in it once. Loading copies into the tensors that the module already has, so optimizers, compiled
graphs and views of them stay valid.
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
    """What the bytes of one tensor are."""

    name: str
    dtype: torch.dtype
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Snapshot:
    """Tensors as ``arrays`` of uint8, one for each of ``entries``, which may be read-only.

    ``whole``: it has all tensors of the model, so that one that is missing is a mistake and not left out.
    ``policy_version`` is what its publisher counts, for TorchRL's ``PolicyVersion``; None: nothing but our versions.
    """

    entries: tuple[Entry, ...]
    arrays: list[Bytes] = field(repr=False)
    whole: bool = True
    policy_version: int | None = None

    @property
    def size_bytes(self) -> int:
        return sum(array.nbytes for array in self.arrays)

    def __reduce__(self) -> tuple[Any, ...]:
        # By columns and plain buffers: an object for each tensor takes three times as long to pickle.
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


# Of a fleet that publishes no weights, and yet has something to tell its collectors.
NOTHING: Final = Snapshot((), [], whole=False)


def tensors_of(module: nn.Module, prefer: Include = lambda _name: True) -> dict[str, Tensor]:
    """All parameters and buffers of a module, each tensor once, under its first name that is preferred, else its first.

    A tensor that layers share has several names, and one of them may be what is to travel.
    """
    named = [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]
    names: dict[int, str] = {}
    for name, tensor in named:
        known = names.get(id(tensor))
        if known is None or (prefer(name) and not prefer(known)):
            names[id(tensor)] = name
    return {name: with_values(name, tensor) for name, tensor in named if names[id(tensor)] == name}


def by_every_name(module: nn.Module) -> dict[str, Tensor]:
    """All parameters and buffers of a module; one that several layers share is there under each of its names."""
    named = [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]
    return {name: with_values(name, tensor) for name, tensor in named}


def not_in_state_dicts(module: nn.Module) -> frozenset[str]:
    """The names of the buffers of a module that its ``state_dict()`` leaves out."""
    return frozenset(
        f"{path}.{name}" if path else name
        for path, inner in module.named_modules(remove_duplicate=False)
        for name in inner._non_persistent_buffers_set
    )


def with_values(name: str, tensor: Tensor) -> Tensor:
    """The tensor without its graph. Raises InvalidOption if there are no values in it."""
    if is_lazy(tensor):
        raise InvalidOption(
            f"weights: {name} has no shape yet, because no data went through its module; call the policy once with "
            "data of the environment before you pass or publish it"
        )
    if tensor.is_meta:
        raise InvalidOption(
            f"weights: {name} is on the meta device and has no values; call module.to_empty(device='cpu') and "
            "initialise or load its weights before you pass or publish it"
        )
    return tensor.detach()


def including(names: Sequence[str] | Include | None) -> Include:
    """Which tensors travel: those whose name begins with one of ``names``, or for which the callable says so."""
    if names is None:
        return lambda _name: True
    if callable(names):
        return names
    # A string is one beginning, and not its letters.
    prefixes = (names,) if isinstance(names, str) else tuple(names)
    return lambda name: name.startswith(prefixes)


def take(
    tensors: Mapping[str, Tensor],
    *,
    dtype: torch.dtype | None = None,
    names: Sequence[str] | Include | None = None,
    whole: bool = True,
) -> Snapshot:
    """The bytes of ``tensors``. Contiguous ones on the CPU are referenced, not copied: store them before they change.

    Floating tensors that ``dtype`` does not hold are cast to it; only what ``names`` includes is taken. ``whole``:
    these are all tensors that there are.
    """
    included = including(names)
    chosen = {name: tensor for name, tensor in tensors.items() if included(name)}
    entries = [Entry(name, travels_as(tensor, dtype), tuple(tensor.shape)) for name, tensor in chosen.items()]
    cast = [tensor.to(entry.dtype) for entry, tensor in zip(entries, chosen.values(), strict=True)]
    arrays = [bytes_of(tensor.contiguous()) for tensor in on_the_host(cast)]
    return Snapshot(tuple(entries), arrays, whole=whole and len(chosen) == len(tensors))


def travels_as(tensor: Tensor, dtype: torch.dtype | None) -> torch.dtype:
    """The dtype of a tensor in a snapshot that is taken with ``dtype``."""
    if dtype is None or not tensor.is_floating_point() or dtype.itemsize >= tensor.dtype.itemsize:
        return tensor.dtype  # as many bytes would say nothing more
    return dtype


def rounding(name: str, travels: torch.dtype, loaded: torch.dtype) -> str | None:
    """What to say where a tensor travels in a dtype that the collectors' policy cannot hold; None: it can.

    It would act with other weights than were published, and could not prove them.
    """
    if holds(loaded, travels):
        return None
    return (
        f"weights: {name} is {travels} as published, and {loaded} in the collectors' policy would round it; publish "
        f"it as {loaded}, or build the policy with {travels}"
    )


def bytes_of(tensor: Tensor) -> Bytes:
    """A contiguous CPU tensor's own memory."""
    found: Bytes = tensor.detach().view(-1).view(torch.uint8).numpy()
    return found


def tensor_of(entry: Entry, array: Bytes) -> Tensor:
    """The other way round; not to be written to."""
    return torch.from_numpy(array).view(entry.dtype).view(entry.shape)


def copied(snapshot: Snapshot) -> Snapshot:
    """The same snapshot in memory of its own."""
    return replace(snapshot, arrays=[array.copy() for array in snapshot.arrays])


def tensors_by_name(snapshot: Snapshot) -> dict[str, Tensor]:
    """Copies of the tensors of a snapshot."""
    pairs = zip(snapshot.entries, snapshot.arrays, strict=True)
    return {entry.name: tensor_of(entry, array).clone() for entry, array in pairs}


def digest(arrays: Iterable[Bytes]) -> str:
    """``xxh3:...`` of the bytes, in their order; each array is asked for when those before it are done."""
    # Not cryptographic: this tells a mistake, not an attack, and takes a tenth of the time of SHA-256.
    hashed = xxhash.xxh3_128()
    for array in arrays:
        hashed.update(array.data)
    return "xxh3:" + hashed.hexdigest()
