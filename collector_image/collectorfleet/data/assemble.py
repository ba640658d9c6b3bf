"""From answers to the batch that the consumer gets: one copy, into memory that is the consumer's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from tensordict import LazyStackedTensorDict, TensorDict, TensorDictBase, pad
from torch import Tensor

from collectorfleet.data import wire
from collectorfleet.data.pool import BufferPool
from collectorfleet.weights.inbox import Segment

COLLECTOR = "collector"
VERSION = "weights_version"
VERSION_KEY = (COLLECTOR, VERSION)
TRAJECTORY = "traj_ids"
TRAJECTORY_KEY = (COLLECTOR, TRAJECTORY)
MASK_KEY = (COLLECTOR, "mask")
# Every collector counts its trajectories from 0; each life of each gets a range of its own.
_TRAJECTORIES_PER_LIFE = 2**32


@dataclass(frozen=True)
class Part:
    """One answer: the rollout, and with which weights and in which life of a collector it was made.

    ``segments`` is None if the rollout itself says the version of each frame.
    """

    encoded: wire.Encoded = field(repr=False)
    segments: tuple[Segment, ...] | None
    life: int


def assemble(parts: Sequence[Part], *, stacked: bool, pool: BufferPool, copy: bool = True) -> TensorDictBase:
    """``[parts, *part]`` if ``stacked`` (Sync), else the one part as it is (Async).

    ``copy=False`` returns views of what the transport holds: not to be written to.
    """
    views = _of_one_length([_with_collector_keys(part) for part in parts])
    if not copy:
        return LazyStackedTensorDict.lazy_stack(views) if stacked else views[0]
    if all(_alike(views[0], other) for other in views[1:]):
        return _copied(views, stacked=stacked, pool=pool)
    return TensorDict.maybe_dense_stack(views).clone()


def distinct_trajectories(ids: Tensor, life: int) -> Tensor:
    """Ids that no other life of any collector has. Negative ids mark frames that are no part of a trajectory."""
    ids = ids.to(torch.int64)
    return torch.where(ids >= 0, ids + life * _TRAJECTORIES_PER_LIFE, ids)


def versions_of(segments: Sequence[Segment], shape: torch.Size) -> Tensor:
    """int64 of ``shape``, whose last dimension is time: the version that made each frame."""
    versions = torch.empty(shape, dtype=torch.int64)
    for segment in segments:
        versions[..., segment.first_step :] = segment.version
    return versions


def _with_collector_keys(part: Part) -> TensorDict:
    view = wire.decode(part.encoded)
    if part.segments is not None:
        view[VERSION_KEY] = versions_of(part.segments, view.batch_size)
    ids = view.get(TRAJECTORY_KEY, None)
    if ids is not None:
        view[TRAJECTORY_KEY] = distinct_trajectories(ids, part.life)
    return view


def _of_one_length(views: Sequence[TensorDict]) -> Sequence[TensorDict]:
    """Padded trajectories are as long as the longest of their answer; those of a batch, as the longest of them all."""
    longest = max(view.shape[-1] for view in views) if views[0].ndim else 0
    if all(view.shape[-1:] == (longest,) for view in views) or any(view.get(MASK_KEY, None) is None for view in views):
        return views
    return [_padded(view, longest) for view in views]


def _padded(view: TensorDict, length: int) -> TensorDict:
    """With zeros behind its last step, and so False in the mask."""
    padded: TensorDict = pad(view, [0, 0] * (view.ndim - 1) + [0, length - view.shape[-1]])
    padded.names = view.names
    return padded


def _alike(one: TensorDictBase, other: TensorDictBase) -> bool:
    """Whether both have the same keys with tensors of the same shapes and dtypes, and nothing but dense tensors."""
    if one.batch_size != other.batch_size or one.keys() != other.keys():
        return False
    return all(_alike_values(value, other.get(key)) for key, value in one.items())


def _alike_values(one: object, other: object) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return one.shape == other.shape and one.dtype == other.dtype
    return type(one) is TensorDict and isinstance(other, TensorDict) and _alike(one, other)


def _copied(views: Sequence[TensorDictBase], *, stacked: bool, pool: BufferPool) -> TensorDict:
    first = views[0]
    lead = (len(views),) if stacked else ()
    entries = {}
    for key, value in first.items():
        if type(value) is TensorDict:
            entries[key] = _copied([view.get(key) for view in views], stacked=stacked, pool=pool)
        elif isinstance(value, Tensor) and wire.fits_an_array(value):
            entries[key] = memory = pool.empty((*lead, *value.shape), value.dtype)
            for index, view in enumerate(views):
                (memory[index] if stacked else memory).copy_(view.get(key))
        else:
            # Ragged or non-tensor data; only a single view comes here with it, see _alike.
            entries[key] = LazyStackedTensorDict.maybe_dense_stack([value.clone()]) if stacked else value.clone()
    names = [*([None] if stacked else []), *first.names] if first._has_names() else None
    return TensorDict(entries, batch_size=(*lead, *first.batch_size), names=names)
