"""The entries that the fleet adds to the frames of a rollout: weights version, trajectory, parameters and mask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import torch
from torch import Tensor

from collectorfleet.codec import tensors
from collectorfleet.messages import Segment

COLLECTOR: Final = "collector"
VERSION: Final = "weights_version"
VERSION_KEY: Final = (COLLECTOR, VERSION)
TRAJECTORY: Final = "traj_ids"
TRAJECTORY_KEY: Final = (COLLECTOR, TRAJECTORY)
PARAMETERS_KEY: Final = (COLLECTOR, "environment_parameters_version")
MASK_KEY: Final = (COLLECTOR, "mask")
# Each incarnation of a collector counts its trajectories from 0. So each incarnation gets a separate range of ids.
_TRAJECTORIES_PER_INCARNATION: Final = 2**32


@dataclass(frozen=True)
class Part:
    """One rollout of a collector, with its weights versions and the incarnation of the collector.

    ``segments`` is None if each frame has an entry with its weights version. ``parameters`` is the version of the
    environment parameters in all frames. ``parameters`` is None if each frame has an entry with this version, or if the
    environments take no parameters. ``varies`` is True if entries may have different sizes in the next rollout.
    """

    encoded: tensors.Encoded = field(repr=False)
    segments: tuple[Segment, ...] | None
    incarnation: int
    parameters: int | None = None
    varies: bool = False


def distinct_trajectories(ids: Tensor, incarnation: int) -> Tensor:
    """Return ids that are unique among all incarnations of all collectors.

    Negative ids do not change, because they mark frames without a trajectory.
    """
    ids = ids.to(torch.int64)
    return torch.where(ids >= 0, ids + incarnation * _TRAJECTORIES_PER_INCARNATION, ids)


def versions_of(segments: Sequence[Segment], shape: torch.Size) -> Tensor:
    """Return the weights version of each frame, int64 of the shape ``shape``. The last dimension is time."""
    versions = torch.empty(shape, dtype=torch.int64)
    for segment in segments:
        versions[..., segment.first_step :] = segment.version
    return versions
