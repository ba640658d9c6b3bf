"""Counts delivered frames, stale frames and duplicates from the frames alone, without the collector's own counters."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from tensordict import TensorDictBase

VERSION = ("collector", "weights_version")
TRAJECTORY = ("collector", "traj_ids")


@dataclass
class Ledger:
    """The counts of one run.

    Weights are numbered: the ``n``-th batch is requested right after weights of value ``n`` are published.
    ``mislabelled`` counts frames whose batch names another version than made them. ``twice`` counts duplicates.

    Args:
        bound: the staleness in versions that a frame may have.
    """

    bound: int
    batches: int = 0
    frames: int = 0
    stale: int = 0
    mislabelled: int = 0
    twice: int = 0
    _seen: set[tuple[int, int]] = field(default_factory=set, repr=False)

    def take(self, batch: TensorDictBase, newest: int) -> None:
        """Count a batch. ``newest`` is the value of the weights that were published last."""
        made_by = (batch["next", "reward"] / 2).round().long().flatten()
        self.batches += 1
        self.frames += made_by.numel()
        self.stale += int((newest - made_by > self.bound).sum())
        label = batch.get(VERSION, None)
        if label is not None:
            self.mislabelled += int((label.flatten() != made_by).sum())
            self._take_places(batch)

    def _take_places(self, batch: TensorDictBase) -> None:
        """Count duplicates. The trajectory and the step in the trajectory identify a frame.

        RayCollector's batches are left out, because its collectors use the same numbers of trajectories.
        """
        trajectories = batch[TRAJECTORY].flatten().tolist()
        steps = batch["next", "observation"][..., 0].flatten().to(torch.int64).tolist()
        places = set(zip(trajectories, steps, strict=True))
        self.twice += len(trajectories) - len(places - self._seen)
        self._seen |= places
