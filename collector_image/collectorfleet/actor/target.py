"""Where a collector loads weights into: the tensors of its policy, in place, with proof of what they then are."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

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
)


class WeightsTarget:
    """``tensors``: by every name that they have, see :func:`collectorfleet.codec.snapshot.by_every_name`.

    ``optional`` names those that stay as they are where the weights of a whole policy do not have them.

    A policy of many tensors is loaded hundreds of times, so two things are found out beforehand. The first is which
    tensors are plain memory that bytes can be copied into. The second is that the entries of a snapshot fit, which are
    mostly the same as last time.
    """

    def __init__(self, tensors: Mapping[str, Tensor], optional: Collection[str] = ()) -> None:
        self._tensors = dict(tensors)
        self._optional = frozenset(optional)
        self._memory = {
            name: bytes_of(tensor)
            for name, tensor in self._tensors.items()
            if tensor.device.type == "cpu" and tensor.is_contiguous()
        }
        self._checked: tuple[tuple[Entry, ...], bool] | None = None

    def load(self, snapshot: Snapshot) -> str:
        """Copy a snapshot into the tensors; returns the digest of what they then hold, in the dtypes that travelled.

        What the snapshot does not have stays as it is. The digest equals that of the snapshot exactly if what it
        brought has arrived.

        Raises:
            ValueError: a name is missing, or a shape or dtype does not fit; nothing was changed then.
        """
        if self._checked != (snapshot.entries, snapshot.whole):
            self._check(snapshot)
            self._checked = (snapshot.entries, snapshot.whole)
        # Of what is loaded now, not of what came: this is the proof. One by one: what was just written is in the cache.
        return digest(self._load(entry, array) for entry, array in zip(snapshot.entries, snapshot.arrays, strict=True))

    def _load(self, entry: Entry, array: Bytes) -> Bytes:
        """Returns the bytes that the tensor now has."""
        tensor, memory = self._tensors[entry.name], self._memory.get(entry.name)
        if memory is not None and tensor.dtype == entry.dtype:
            np.copyto(memory, array)
            return memory
        with torch.no_grad():
            tensor.copy_(tensor_of(entry, array))
        return bytes_of(tensor.detach().to("cpu", entry.dtype).contiguous())

    def _check(self, snapshot: Snapshot) -> None:
        names = [entry.name for entry in snapshot.entries]
        for name in (name for name in names if name not in self._tensors):
            raise ValueError(f"weights: the collector's policy has no tensor {name}; both sides need the same policy")
        for name in self._missing(names) if snapshot.whole else ():
            raise ValueError(f"weights: the published weights have no tensor {name}; both sides need the same policy")
        for entry in snapshot.entries:
            mine = tuple(self._tensors[entry.name].shape)
            if entry.shape != mine:
                raise ValueError(
                    f"weights: {entry.name} is {entry.shape} as published and {mine} in the collector's policy; both "
                    "sides need the same policy"
                )
            if sentence := rounding(entry.name, entry.dtype, self._tensors[entry.name].dtype):
                raise ValueError(sentence)

    def _missing(self, names: Sequence[str]) -> list[str]:
        covered = {self._tensors[name].data_ptr() for name in names}
        needed = (name for name in self._tensors if name not in self._optional)
        return [name for name in needed if self._tensors[name].data_ptr() not in covered]


def target_of(modules: Mapping[str, nn.Module]) -> WeightsTarget:
    """Return the target for the weights of ``modules``, which have the prefix of their names as keys."""
    tensors: dict[str, Tensor] = {}
    optional: set[str] = set()
    for prefix, module in modules.items():
        tensors |= {prefix + name: tensor for name, tensor in by_every_name(module).items()}
        optional |= {prefix + name for name in not_in_state_dicts(module)}
    return WeightsTarget(tensors, optional)
