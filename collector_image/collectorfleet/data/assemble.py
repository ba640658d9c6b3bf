"""From answers to the batch that the consumer gets: one copy, into memory that is the consumer's own."""

from __future__ import annotations

import torch
from tensordict import TensorDict, TensorDictBase

from collectorfleet.data import wire
from collectorfleet.gather.state import Batch, Share

VERSION_KEY = ("collector", "weights_version")
_TRAJECTORY_KEY = ("collector", "traj_ids")
# Every collector counts its trajectories from 0; each life of each gets a range of its own.
_TRAJECTORIES_PER_LIFE = 2**32


def assemble(batch: Batch, *, stacked: bool) -> TensorDictBase:
    """``[shares, *share]`` if ``stacked`` (Sync), else the one share as it is (Async)."""
    parts = [_part(share) for share in batch.shares]
    return torch.stack(parts) if stacked else parts[0].clone()


def _part(share: Share) -> TensorDict:
    part = wire.decode(share.payload)
    part[VERSION_KEY] = torch.full(part.batch_size, share.version or 0, dtype=torch.int64)
    ids = part.get(_TRAJECTORY_KEY, None)
    if ids is not None and share.collector is not None:
        life = share.collector.incarnation * _TRAJECTORIES_PER_LIFE
        # Negative ids mark frames that are no part of a trajectory.
        part[_TRAJECTORY_KEY] = torch.where(ids >= 0, ids.to(torch.int64) + life, ids.to(torch.int64))
    return part
