"""Assemble answers into a batch. The frames are copied once, into memory that belongs to the consumer."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from tensordict import LazyStackedTensorDict, TensorDict, TensorDictBase, pad
from torch import Tensor
from torchrl.collectors.utils import split_trajectories

from collectorfleet.codec import tensors
from collectorfleet.codec.frames import (
    COLLECTOR,
    MASK_KEY,
    PARAMETERS_KEY,
    TRAJECTORY_KEY,
    VERSION_KEY,
    Part,
    distinct_trajectories,
    versions_of,
)
from collectorfleet.fleet.options import FleetOptions
from collectorfleet.fleet.per_collector import PerCollector
from collectorfleet.fleet.pool import BufferPool
from collectorfleet.fleet.same_entries import check_same_entries
from collectorfleet.torchrl_private.tensordicts import has_names


class Assembler:
    """Assembles batches according to the options, in memory that is reused."""

    def __init__(self, options: FleetOptions) -> None:
        self._stacked = options.sync
        self._copy = options.copy
        self._split_trajs = options.split_trajs
        self._postproc = options.postproc
        self._groups = PerCollector.of(options.groups) if options.groups and options.sync else None
        self._pool = BufferPool()

    def batch(
        self, parts: Sequence[Part | None], slots: Sequence[int], random: Sequence[bool] = ()
    ) -> TensorDictBase | None:
        """Return the batch to hand out. Return None if the collectors wrote the frames into a replay buffer.

        For each part, ``slots`` has the index of the part's collector, and ``random`` tells whether the part's actions
        are random.

        Raises:
            InvalidOption: frames of two collectors have different entries, shapes or dtypes.
        """
        there = [part for part in parts if part is not None]
        if not there:
            return None
        # Frames with random actions lack the policy's entries. So the entries are compared only if no part, or every
        # part, has random actions.
        named = [] if len(set(random)) > 1 else [f"c{slot}" for slot in slots]
        groups = [self._groups[slot] for slot in slots] if self._groups else []
        made = assemble(there, stacked=self._stacked, pool=self._pool, copy=self._copy, collectors=named, groups=groups)
        if self._split_trajs:
            made = split_trajectories(made, prefix=COLLECTOR)
        return made if self._postproc is None else self._postproc(made)


def assemble(
    parts: Sequence[Part],
    *,
    stacked: bool,
    pool: BufferPool,
    copy: bool = True,
    collectors: Sequence[str] = (),
    groups: Sequence[str] = (),
) -> TensorDictBase:
    """Return a batch of shape ``[parts, *part]`` if ``stacked`` is true (Sync). Otherwise return the only part (Async).

    For each part, ``collectors`` has the name of the part's collector, and ``groups`` has the collector's group. If
    ``collectors`` is not empty, all parts must have the same entries. If ``copy`` is false, the batch consists of
    read-only views of the transport's memory.
    """
    views = _of_one_length([_with_collector_keys(part) for part in parts])
    if any(view.device != views[0].device for view in views):
        for view in views:
            view.clear_device_()
    alike = all(_alike(views[0], other) for other in views[1:])
    if collectors and not alike:
        check_same_entries(views, collectors, groups, vary=any(part.varies for part in parts))
    if not copy:
        return LazyStackedTensorDict.lazy_stack(views) if stacked else views[0]
    if any(isinstance(view, LazyStackedTensorDict) for view in views):
        # A part is a lazy stack if its entries have different shapes. Such entries do not fit one dense tensor.
        return LazyStackedTensorDict.lazy_stack(views).clone() if stacked else views[0].clone()
    if alike:
        return _copied(views, stacked=stacked, pool=pool)
    return TensorDict.maybe_dense_stack(views).clone()


def _with_collector_keys(part: Part) -> TensorDictBase:
    view = tensors.decode(part.encoded)
    if part.segments is not None:
        view[VERSION_KEY] = versions_of(part.segments, view.batch_size)
    if part.parameters is not None:
        view[PARAMETERS_KEY] = torch.full(view.batch_size, part.parameters, dtype=torch.int64)
    ids = view.get(TRAJECTORY_KEY, None)
    if ids is not None:
        view[TRAJECTORY_KEY] = distinct_trajectories(ids, part.incarnation)
    return view


def _of_one_length(views: Sequence[TensorDictBase]) -> Sequence[TensorDictBase]:
    """Pad the trajectories in all views to the length of the longest view.

    Within each view, all trajectories are already padded to the length of the view's longest trajectory.
    """
    longest = max(view.shape[-1] for view in views) if views[0].ndim else 0
    if all(view.shape[-1:] == (longest,) for view in views) or any(view.get(MASK_KEY, None) is None for view in views):
        return views
    return [_padded(view, longest) for view in views]


def _padded(view: TensorDictBase, length: int) -> TensorDict:
    """Return ``view``, padded to ``length`` steps.

    In the added steps, all entries are zero and the mask is False.
    """
    padded: TensorDict = pad(view, [0, 0] * (view.ndim - 1) + [0, length - view.shape[-1]])
    padded.names = view.names
    return padded


def _alike(one: TensorDictBase, other: TensorDictBase) -> bool:
    """Return whether ``one`` and ``other`` have the same keys, and only dense tensors of the same shapes and dtypes."""
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
        elif isinstance(value, Tensor) and tensors.fits_an_array(value):
            entries[key] = memory = pool.empty((*lead, *value.shape), value.dtype)
            for index, view in enumerate(views):
                (memory[index] if stacked else memory).copy_(view.get(key))
        else:
            # Ragged data and non-tensor data occur only if there is a single view, see _alike.
            entries[key] = LazyStackedTensorDict.maybe_dense_stack([value.clone()]) if stacked else value.clone()
    names = [*([None] if stacked else []), *first.names] if has_names(first) else None
    return TensorDict(entries, batch_size=(*lead, *first.batch_size), names=names, device=first.device)
