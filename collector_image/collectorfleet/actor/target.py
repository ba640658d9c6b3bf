"""Load weights into the tensors of a policy in place. Return a digest of the loaded tensors as proof."""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from collectorfleet.codec.snapshot import (
    Bytes,
    Entry,
    Snapshot,
    by_every_name,
    bytes_of,
    digest,
    not_in_state_dicts,
    rounding,
    tensor_of,
    with_values,
)

# The shape and dtype of a tensor, and whether the tensor is expanded.
_Form = tuple[torch.Size, torch.dtype, bool]


class WeightsTarget:
    """The tensors to load weights into.

    Args:
        tensors: the tensors, each under all of its names, see :func:`collectorfleet.codec.snapshot.by_every_name`.
        optional: names of tensors that the weights of a whole policy may lack. If a snapshot lacks such a tensor,
            loading does not change the tensor.
        replaced: names of tensors that the user's code has added or removed, or whose shape or dtype it has changed. A
            snapshot may lack such a tensor. If a snapshot does not fit the tensor, loading does not change the tensor.

    Weights are loaded hundreds of times, so two checks are not repeated for each load. The constructor finds out which
    tensors' bytes can be copied directly. The first load checks that the entries of the snapshot fit the tensors. Later
    loads skip this check if the snapshot has the same entries.
    """

    def __init__(
        self, tensors: Mapping[str, Tensor], optional: Collection[str] = (), replaced: Collection[str] = ()
    ) -> None:
        self._tensors = dict(tensors)
        self._optional = frozenset(optional) | frozenset(replaced)
        self._replaced = frozenset(replaced)
        self._skipped: frozenset[str] = frozenset()
        self._memory = {
            name: bytes_of(tensor)
            for name, tensor in self._tensors.items()
            if tensor.device.type == "cpu" and tensor.layout is torch.strided and tensor.is_contiguous()
        }
        self._checked: tuple[tuple[Entry, ...], bool] | None = None

    def load(self, snapshot: Snapshot) -> str:
        """Copy a snapshot into the tensors. Return a digest of the loaded tensors, in the dtypes of the snapshot.

        Tensors that the snapshot lacks do not change. The digest equals the snapshot's digest if and only if the loaded
        tensors have the snapshot's values.

        Raises:
            ValueError: a name is missing, or a shape or dtype does not fit. The tensors are unchanged in this case.
        """
        if self._checked != (snapshot.entries, snapshot.whole):
            self._check(snapshot)
            self._checked = (snapshot.entries, snapshot.whole)
        # As proof, the digest is computed from the loaded tensors and not from the snapshot. Each tensor is hashed
        # directly after it was loaded, while its bytes are in the cache.
        return digest(self._load(entry, array) for entry, array in zip(snapshot.entries, snapshot.arrays, strict=True))

    def _load(self, entry: Entry, array: Bytes) -> Bytes:
        """Copy one entry into its tensor. Return the bytes of the loaded tensor."""
        if entry.name in self._skipped:
            return array
        tensor, memory = self._tensors[entry.name], self._memory.get(entry.name)
        if memory is not None and tensor.dtype == entry.dtype:
            np.copyto(memory, array)
            return memory
        with torch.no_grad():
            tensor.copy_(tensor_of(entry, array))
        return bytes_of(tensor.detach().to("cpu", entry.dtype).contiguous())

    def _check(self, snapshot: Snapshot) -> None:
        names = [entry.name for entry in snapshot.entries]
        for name in (name for name in names if name not in self._tensors and name not in self._replaced):
            raise ValueError(
                f"weights: the collector's policy has no tensor {name}; driver and collectors need the same policy"
            )
        for name in self._missing(names) if snapshot.whole else ():
            raise ValueError(
                f"weights: the published weights have no tensor {name}; driver and collectors need the same policy"
            )
        unfit = {entry.name: self._misfit(entry) for entry in snapshot.entries if entry.name in self._tensors}
        for name, sentence in unfit.items():
            if sentence is not None and name not in self._replaced:
                raise ValueError(sentence)
        self._skipped = frozenset(name for name in names if name not in unfit or unfit[name] is not None)

    def _misfit(self, entry: Entry) -> str | None:
        """Return why an entry cannot be loaded into its tensor, or None if it can."""
        name, mine = entry.name, self._tensors[entry.name]
        if entry.shape != tuple(mine.shape):
            return (
                f"weights: {name} is {entry.shape} as published and {tuple(mine.shape)} in the collector's policy; "
                "driver and collectors need the same policy"
            )
        if sentence := rounding(name, entry.dtype, mine.dtype):
            return sentence
        if _repeats_numbers(mine):
            return (
                f"weights: several numbers of {name} share one place in memory, so {name} cannot be loaded; register a "
                "clone() of the expanded tensor"
            )
        return None

    def _missing(self, names: Sequence[str]) -> list[str]:
        covered = {self._tensors[name].data_ptr() for name in names if name in self._tensors}
        needed = (name for name in self._tensors if name not in self._optional)
        return [name for name in needed if self._tensors[name].data_ptr() not in covered]


def _repeats_numbers(tensor: Tensor) -> bool:
    """Return whether the tensor is expanded."""
    if tensor.layout is not torch.strided:
        return False
    return any(stride == 0 and size > 1 for stride, size in zip(tensor.stride(), tensor.shape, strict=True))


def _place(tensor: Tensor) -> Any:
    """Return where and how a tensor is stored. For a sparse tensor, which has no address, return None."""
    if tensor.layout is not torch.strided:
        return None
    return tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype


def _form(tensor: Tensor) -> _Form:
    return tensor.shape, tensor.dtype, _repeats_numbers(tensor)


class ModulesTarget(WeightsTarget):
    """The tensors of modules. The keys of ``modules`` are prefixes of the tensors' names.

    The user's code may replace a tensor, the memory of a tensor, or a module. Examples are a buffer that the policy
    assigns in each step, and ``weight.data = ...``. Weights are then loaded into the new tensor.

    While it acts, a policy may also add or remove a buffer, or give a buffer another shape or dtype. An example is a
    cache. If the published buffer does not fit then, the policy keeps its own buffer.
    """

    def __init__(self, modules: Mapping[str, nn.Module]) -> None:
        self._modules = dict(modules)
        self._first_buffers = self._buffers()
        self._find()

    def load(self, snapshot: Snapshot) -> str:
        parts, places = self._present()
        if len(parts) != len(self._parts) or places != self._places or not all(map(operator.is_, parts, self._parts)):
            self._find()
        return super().load(snapshot)

    def _find(self) -> None:
        tensors: dict[str, Tensor] = {}
        optional: set[str] = set()
        for prefix, module in self._modules.items():
            tensors |= {prefix + name: tensor for name, tensor in by_every_name(module).items()}
            optional |= {prefix + name for name in not_in_state_dicts(module)}
        replaced = {name for name, _ in self._first_buffers.items() ^ self._buffers().items()}
        super().__init__(tensors, optional, replaced)
        self._parts, self._places = self._present()

    def _buffers(self) -> dict[str, _Form]:
        """Return the form of each buffer, by name. Raises InvalidOption if a buffer has no values."""
        return {
            prefix + name: _form(with_values(name, buffer))
            for prefix, module in self._modules.items()
            for name, buffer in module.named_buffers(remove_duplicate=False)
        }

    def _present(self) -> tuple[list[Any], list[Any]]:
        """Return all modules, parameters and buffers, with the memory and layout of each parameter and buffer."""
        inner = [one for module in self._modules.values() for one in module.modules()]
        # The methods parameters() and buffers() are not called, because the user's module may replace them.
        own = [
            tensor
            for one in inner
            for kind in ("_parameters", "_buffers")
            for tensor in vars(one).get(kind, {}).values()
            if tensor is not None
        ]
        return [*inner, *own], list(map(_place, own))
