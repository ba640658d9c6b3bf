"""Hooks of collectors, and a collector class, which mark their batches so that a test can recognize them."""

from __future__ import annotations

from typing import Any

import torch
from tensordict import NonTensorData, TensorDictBase
from torchrl.collectors import Collector


def nothing() -> None:
    """Do nothing, as a hook."""


def mark_batch(batch: TensorDictBase) -> None:
    """Add the entry ``marked`` to a batch, as a hook whose effect is visible in the data."""
    batch["marked"] = torch.ones(batch.batch_size)


def mark_with_words(batch: TensorDictBase) -> None:
    """Add a text to a batch, as a hook that leaves an entry which no array can carry."""
    batch.set_non_tensor("words", "not a number")


class Unreadable:
    """A value that TorchRL can copy, and that fails when it is pickled or unpickled."""

    def __init__(self, when: str) -> None:
        self._when = when

    def __deepcopy__(self, _: Any) -> Unreadable:
        return self

    def __reduce__(self) -> Any:
        if self._when == "pickled":
            raise ValueError("a handle of this process")
        return _unreadable, ()


def _unreadable() -> None:
    raise ValueError("no such handle here")


def mark_with_unpicklable(batch: TensorDictBase) -> None:
    """Add an entry to a batch that cannot be pickled."""
    batch["handle"] = NonTensorData(Unreadable("pickled"), batch.batch_size)


def mark_with_unreadable(batch: TensorDictBase) -> None:
    """Add an entry to a batch that cannot be unpickled."""
    batch["handle"] = NonTensorData(Unreadable("unpickled"), batch.batch_size)


class MarkingCollector(Collector):
    """A collector of the user's own, which adds the entry ``marked`` to its batches."""

    def rollout(self) -> TensorDictBase:
        batch = super().rollout()
        mark_batch(batch)
        return batch
