"""Convert statistics of environments to a snapshot and back, and to a state that ``torch.save`` stores, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import torch

from collectorfleet.codec.snapshot import Entry, Snapshot, bytes_of, tensor_of
from collectorfleet.normalization import Array, Normalization, RunningStatistics

_UPDATES: Final = "updates"


def encode(normalization: Normalization) -> Snapshot:
    """Return the statistics as a snapshot without decays. Each collector reads the decays from its own transforms."""
    entries, arrays = [], []
    for name, one in normalization.items():
        for part, value in {_UPDATES: np.asarray(one.updates), **one.sums}.items():
            tensor = torch.from_numpy(np.array(value, order="C"))
            entries.append(Entry(f"{name}:{part}", tensor.dtype, tuple(tensor.shape)))
            arrays.append(bytes_of(tensor))
    return Snapshot(tuple(entries), arrays)


def decode(snapshot: Snapshot) -> dict[str, RunningStatistics]:
    """Return the statistics of a snapshot. The decay is 1, because a snapshot has no decays.

    Do not write to the arrays of the result.
    """
    parts: dict[str, dict[str, Array]] = {}
    for entry, array in zip(snapshot.entries, snapshot.arrays, strict=True):
        name, _, part = entry.name.rpartition(":")
        parts.setdefault(name, {})[part] = tensor_of(entry, array).numpy()
    return {name: RunningStatistics(1.0, int(sums.pop(_UPDATES)), sums) for name, sums in parts.items()}


def to_state(normalization: Normalization) -> dict[str, Any]:
    """Return the statistics as dicts, numbers and copied tensors, so that ``torch.save`` can store them."""
    return {
        name: {
            "decay": one.decay,
            _UPDATES: one.updates,
            "sums": {part: torch.from_numpy(np.array(value)) for part, value in one.sums.items()},
        }
        for name, one in normalization.items()
    }


def from_state(state: Mapping[str, Any]) -> dict[str, RunningStatistics]:
    """Return the statistics in a state that :func:`to_state` made. Raises KeyError if an entry is missing."""
    return {
        name: RunningStatistics(
            float(one["decay"]), int(one[_UPDATES]), {part: value.numpy() for part, value in one["sums"].items()}
        )
        for name, one in state.items()
    }
