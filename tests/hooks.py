"""Hooks of collectors, and a collector class, which mark their batches so that a test can recognize them."""

from __future__ import annotations

import torch
from tensordict import TensorDictBase
from torchrl.collectors import Collector


def nothing() -> None:
    """Do nothing, as a hook."""


def mark_batch(batch: TensorDictBase) -> None:
    """Add the entry ``marked`` to a batch, as a hook whose effect is visible in the data."""
    batch["marked"] = torch.ones(batch.batch_size)


def mark_with_words(batch: TensorDictBase) -> None:
    """Add a text to a batch, as a hook that leaves an entry which no array can carry."""
    batch.set_non_tensor("words", "not a number")


class MarkingCollector(Collector):
    """A collector of the user's own, which adds the entry ``marked`` to its batches."""

    def rollout(self) -> TensorDictBase:
        batch = super().rollout()
        mark_batch(batch)
        return batch
