"""What was delivered, and which weights made it: read from the frames, whatever the collector says of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from tensordict import TensorDictBase

VERSION = ("collector", "weights_version")
TRAJECTORY = ("collector", "traj_ids")


@dataclass
class Ledger:
    """Weights are numbered: the ``n``-th batch is asked for right after weights of value ``n`` were published.

    Args:
        bound: versions that a frame may be behind.
    """

    bound: int
    batches: int = 0
    frames: int = 0
    stale: int = 0
    mislabelled: int = 0
    twice: int = 0
    _seen: set[tuple[int, int]] = field(default_factory=set, repr=False)

    def take(self, batch: TensorDictBase, newest: int) -> None:
        """Count a batch; ``newest`` is the value that was published last."""
        made_by = (batch["next", "reward"] / 2).round().long().flatten()
        self.batches += 1
        self.frames += made_by.numel()
        self.stale += int((newest - made_by > self.bound).sum())
        label = batch.get(VERSION, None)
        if label is not None:
            self.mislabelled += int((label.flatten() != made_by).sum())
            self._take_places(batch)

    def _take_places(self, batch: TensorDictBase) -> None:
        """A frame is known by its trajectory and its step in it; RayCollector's collectors share their numbers."""
        trajectories = batch[TRAJECTORY].flatten().tolist()
        steps = batch["next", "observation"][..., 0].flatten().to(torch.int64).tolist()
        places = set(zip(trajectories, steps, strict=True))
        self.twice += len(trajectories) - len(places - self._seen)
        self._seen |= places
