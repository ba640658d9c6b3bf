"""What is said of every frame of a rollout beside its data: the weights that made it, and its trajectory."""

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
# Every collector counts its trajectories from 0; each incarnation of each gets a range of its own.
_TRAJECTORIES_PER_INCARNATION: Final = 2**32


@dataclass(frozen=True)
class Part:
    """One answer: the rollout, and with which weights and by which incarnation of a collector it was made.

    ``segments`` is None if the rollout itself says the version of each frame. ``parameters`` is the version of the
    environment's parameters in all frames. It is None if the rollout itself says it, or if there are no parameters.
    """

    encoded: tensors.Encoded = field(repr=False)
    segments: tuple[Segment, ...] | None
    incarnation: int
    parameters: int | None = None


def distinct_trajectories(ids: Tensor, incarnation: int) -> Tensor:
    """Ids that no other incarnation of any collector has. Negative ids mark frames that are no part of a trajectory."""
    ids = ids.to(torch.int64)
    return torch.where(ids >= 0, ids + incarnation * _TRAJECTORIES_PER_INCARNATION, ids)


def versions_of(segments: Sequence[Segment], shape: torch.Size) -> Tensor:
    """int64 of ``shape``, whose last dimension is time: the version that made each frame."""
    versions = torch.empty(shape, dtype=torch.int64)
    for segment in segments:
        versions[..., segment.first_step :] = segment.version
    return versions
