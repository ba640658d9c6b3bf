"""Store the steps of a rollout in a small memory, before the loop copies them to the batch.

In a batch, the steps of each environment are adjacent. So writing one step of all environments would touch memory in
many places. In the stage, the entries of one step are adjacent. The loop copies many steps from the stage to the batch
at once.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from collectorfleet.actor.origin import Origin, calling
from collectorfleet.actor.rollout.ownership import count_sharers
from collectorfleet.actor.rollout.writes import Inputs

# This number of bytes fits into the cache of a core. So the steps are still in the cache when the loop copies them.
_CACHED_BYTES: Final = 128 * 1024
_FEWEST_STEPS: Final = 4
_MOST_STEPS: Final = 64
# Torch aligns the memory of tensors to this size. The rounding of a kernel may depend on the alignment.
_ALIGNED_BYTES: Final = 64
# The largest number of memory blocks that the stage keeps for later reuse while a policy still references them.
_MOST_LEFT: Final = 4


class Frame:
    """The entries of environments and transforms at one time.

    ``arrays`` has one array ``[environments, *shape]`` for each key. ``tensors`` has the same memory, in the shape that
    the environment uses. ``reads`` are the keys of the entries that the policy reads. ``inputs`` has these entries.
    """

    def __init__(self, tensors: Mapping[str, Tensor], reads: Collection[Any], *, batched: bool) -> None:
        self.tensors = dict(tensors)
        self.arrays: dict[str, np.ndarray] = {key: as_array(tensor, batched) for key, tensor in tensors.items()}
        self.inputs = Inputs({key: tensor for key, tensor in tensors.items() if key in reads}, self.arrays)
        self.read_inputs = self.inputs.read


_Memory = tuple[dict[str, Tensor], list[Frame], dict[str, np.ndarray], list[Tensor], list[int]]


class PolicyRows:
    """The rows for one output of a policy. ``wanted`` has the shape and dtype that the output must have."""

    def __init__(self, key: Any, wanted: Tensor, dtype: torch.dtype | None, rows: np.ndarray, *, batched: bool) -> None:
        self.key = key
        self._wanted = wanted
        self._shape = tuple(wanted.shape)
        self._dtype = dtype
        self._array_dtype = None if dtype is None else rows.dtype
        self._rows = rows
        self._batched = batched

    def write(self, row: int, tensor: Tensor) -> None:
        """Write one row.

        Raise ValueError if ``tensor`` has a wrong shape or dtype, because numpy would convert it without an error.
        """
        try:
            array = tensor.numpy()
        except (RuntimeError, TypeError):  # the tensor requires a gradient, or NumPy does not support its dtype
            self._require_fit(tensor)
            array = tensor.detach().numpy()
        # An array returns its shape and dtype in half the time that a tensor needs.
        if array.shape != self._shape or array.dtype is not self._array_dtype:
            self._require_fit(tensor)
        self._rows[row] = array

    def _require_fit(self, tensor: Tensor) -> None:
        if tensor.shape != self._wanted.shape or (tensor.dtype is not self._dtype and self._dtype is not None):
            with calling(Origin.POLICY):
                raise ValueError(
                    f"the policy's {self.key} {'for all environments' if self._batched else 'for the environment'} is "
                    f"{tensor.dtype} {list(tensor.shape)}, but was {self._wanted.dtype} {list(self._shape)} when the "
                    "collector was built; keep shape and dtype unchanged"
                )


class Stage:
    """Memory for ``steps`` steps of a rollout.

    Args:
        frame: the entries of the environment at the start of a step.
        reads: the keys of the entries that the policy reads.
        outputs: the policy's outputs of one step.
        reward: the reward of one step.
        batched: whether the environment has a batch size. Otherwise its tensors lack the dimension of environments.

    ``frames`` has ``steps + 1`` frames. The last frame is the start of the step that follows. ``seen`` is ``[steps + 1,
    environments, ...]``. ``outputs`` and ``rewards`` are ``[steps, environments, ...]``. ``last`` has the last
    observations of ended episodes, by step, environment and key. These observations are not in ``frames``, because the
    frame after the end of an episode has the first observation of the next episode.
    """

    def __init__(
        self,
        frame: Mapping[str, Tensor],
        reads: Collection[Any],
        outputs: Mapping[Any, Tensor],
        reward: Tensor,
        *,
        batched: bool,
    ) -> None:
        a_step = sum(tensor.numel() * tensor.element_size() for tensor in (*frame.values(), *outputs.values()))
        self.steps = min(max(_FEWEST_STEPS, _CACHED_BYTES // max(1, a_step)), _MOST_STEPS)
        self._batched = batched
        self._reads = set(reads)
        self._example_outputs = dict(outputs)
        self._like = dict(frame)
        self.outputs = {key: as_array(_rows(self.steps, tensor), batched, dim=1) for key, tensor in outputs.items()}
        self.rewards = as_array(_rows(self.steps, reward), batched, dim=1)
        self.last: list[tuple[int, int, dict[str, np.ndarray]]] = []
        # Memory blocks that the stage has replaced because a policy still referenced them. If a policy keeps only a few
        # tensors, the stage alternates between two blocks.
        self._left: list[_Memory] = []
        self._make_frames()

    def _make_frames(self) -> None:
        self._frame = {key: _rows(self.steps + 1, tensor) for key, tensor in self._like.items()}
        self.frames = [
            Frame({key: rows[step] for key, rows in self._frame.items()}, self._reads, batched=self._batched)
            for step in range(self.steps + 1)
        ]
        self.seen = {key: as_array(rows, self._batched, dim=1) for key, rows in self._frame.items()}
        self._tensors = [tensor for frame in self.frames for tensor in frame.tensors.values()]
        self._references = self._count_references()

    def _count_references(self) -> list[int]:
        """Return two kinds of counts in one list.

        First, for each tensor of the frames, the number of Python references. Then, for each memory block, the number
        of tensors that use the block.
        """
        return [*map(sys.getrefcount, self._tensors), *map(count_sharers, self._frame.values())]

    def _leave_kept(self) -> None:
        """If a policy still references the frames, continue with another memory block.

        The policy's frames then stay unchanged.
        """
        if self._count_references() == self._references:
            return
        left = self._frame, self.frames, self.seen, self._tensors, self._references
        self._left = [*self._left[1 - _MOST_LEFT :], left]
        for place, memory in enumerate(self._left):
            self._frame, self.frames, self.seen, self._tensors, self._references = memory
            if self._count_references() == self._references:
                del self._left[place]
                return
        self._make_frames()

    def is_kept(self, rows: int) -> bool:
        """Return whether the policy references a tensor of the first ``rows`` frames, or shares the memory."""
        count = rows * len(self._like)
        now, all_frames = self._count_references(), len(self._tensors)
        return now[:count] != self._references[:count] or now[all_frames:] != self._references[all_frames:]

    def output_rows(self, values: Mapping[str, Tensor], *, random: bool) -> list[PolicyRows]:
        """Return the rows for the policy's outputs in ``values``. If ``random`` is true, the action is random."""
        # A random action may have another dtype than the policy's actions. It is converted to the dtype of the policy's
        # actions.
        return [
            PolicyRows(key, wanted, None if random else wanted.dtype, self.outputs[key], batched=self._batched)
            for key, wanted in self._example_outputs.items()
            if values.get(key) is not None
        ]

    def begin(self, tensors: Mapping[str, Tensor]) -> None:
        """Begin a rollout with ``tensors`` as the first frame."""
        self.last.clear()
        self._leave_kept()
        for key, tensor in self.frames[0].tensors.items():
            tensor.copy_(tensors[key])

    def end(self, step: int, which: Sequence[int]) -> None:
        """Store the last observations of the environments ``which`` after ``step``. Call this before their reset."""
        arrays = self.frames[step + 1].arrays.items()
        self.last += [(step, one, {key: array[one].copy() for key, array in arrays}) for one in which]

    def begin_again(self) -> None:
        """Make the last frame the first frame of the next steps. Call this after all steps were copied."""
        self.last.clear()
        newest = self.frames[-1].arrays
        self._leave_kept()
        for key, array in self.frames[0].arrays.items():
            array[...] = newest[key]

    @property
    def memory(self) -> dict[str, Tensor]:
        """The memory of all frames, by key. :meth:`begin` and :meth:`begin_again` may replace the memory."""
        return self._frame


def as_array(tensor: Tensor, batched: bool, dim: int = 0) -> np.ndarray:
    """Return the memory of a tensor as an array.

    If ``batched`` is false, the array gets a dimension of one environment at ``dim``.
    """
    array: np.ndarray = (tensor if batched else tensor.unsqueeze(dim)).numpy()
    return array


def _rows(count: int, like: Tensor) -> Tensor:
    """Return memory ``[count, *like.shape]``. Each row is aligned like a separate tensor."""
    items = _ALIGNED_BYTES // like.element_size()
    room = -(-like.numel() // items) * items
    return torch.empty(count, room, dtype=like.dtype)[:, : like.numel()].view(count, *like.shape)
