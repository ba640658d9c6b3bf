"""The result of a rollout: its frames with their versions and statistics.

A collector may write the frames to a replay buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from tensordict import TensorDictBase

from collectorfleet.actor.frame_entries import on_the_cpu
from collectorfleet.actor.origin import Origin, calling
from collectorfleet.actor.parameters.stamps import ParameterStamps
from collectorfleet.codec import frames as keys
from collectorfleet.messages import Episodes, Recorded, Segment
from collectorfleet.normalization import Normalization


@dataclass(frozen=True)
class Rollout:
    """A finished rollout.

    ``batch`` is None if the collector wrote the frames to a replay buffer. ``segments`` is None if each frame of the
    batch has an entry with its weights version.
    """

    batch: TensorDictBase | None
    frames: int
    oldest_version: int
    segments: Sequence[Segment] | None
    normalization: Normalization | None = None  # the statistics of this rollout's steps
    episodes: Episodes | None = None  # the episodes that ended in this rollout
    loop: str | None = None  # the loop of the next rollout; None: unchanged
    first_starts: str | None = None  # set in one rollout only, see :class:`FirstStarts`
    # The version of the environment parameters in all frames. None: each frame has an entry with its version, or the
    # environments take no parameters.
    parameters: int | None = None
    oldest_parameters: int | None = None  # the oldest version that an environment uses
    recorded: Recorded | None = None  # the recorded first episodes, if requested
    varies: bool = False  # whether entries may have other sizes in the next rollout


def with_parameters(rollout: Rollout, parameters: ParameterStamps) -> Rollout:
    """Add the version of the environment parameters to the rollout: one version, or an entry in each frame."""
    batch = rollout.batch
    if batch is None:
        return rollout
    versions = parameters.end_rollout(batch)
    if isinstance(versions, int):
        return replace(rollout, parameters=versions, oldest_parameters=parameters.oldest)
    batch = batch.copy()
    batch[keys.COLLECTOR] = batch[keys.COLLECTOR].copy()
    batch[keys.PARAMETERS_KEY] = versions
    return replace(rollout, batch=batch, oldest_parameters=parameters.oldest)


def write_frames(rollout: Rollout, replay_buffer: Any, incarnation: int) -> Rollout:
    """Write the frames into the replay buffer. Return the rollout without frames.

    ``incarnation`` makes the trajectory ids differ from the ids of all other incarnations in the fleet.
    """
    batch = rollout.batch
    if batch is None:
        return rollout
    batch = on_the_cpu(batch).copy()
    if rollout.segments is not None:
        batch[keys.VERSION_KEY] = keys.versions_of(rollout.segments, batch.batch_size)
    if rollout.parameters is not None:
        batch[keys.PARAMETERS_KEY] = torch.full(batch.batch_size, rollout.parameters, dtype=torch.int64)
    ids = batch.get(keys.TRAJECTORY_KEY, None)
    if ids is not None:
        batch[keys.TRAJECTORY_KEY] = keys.distinct_trajectories(ids, incarnation)
    mask = batch.get(keys.MASK_KEY, None)
    with calling(Origin.REPLAY_BUFFER):
        replay_buffer.extend(batch.reshape(-1) if mask is None else batch[mask])
    return replace(rollout, batch=None, segments=None, parameters=None)
