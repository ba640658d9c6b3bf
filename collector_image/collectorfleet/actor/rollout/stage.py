"""Steps on their way into the batch.

A batch has a row of time for each environment, so that a step written there touches memory all over. Steps are written
one after the other here, and copied to the batch by the dozen.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from collectorfleet.actor.rollout.ownership import count_sharers

# So much stays in a core's cache until it is copied.
_CACHED_BYTES: Final = 128 * 1024
_FEWEST_STEPS: Final = 4
_MOST_STEPS: Final = 64
# Allocators of tensors align to it, and what kernels round may depend on it.
_ALIGNED_BYTES: Final = 64
# To compare so much in each step costs less than a microsecond. Of more, as many numbers are compared.
_COMPARED_BYTES: Final = 1024
_COMPARED_NUMBERS: Final = 64
# What a policy keeps for longer is its own memory.
_MOST_LEFT: Final = 4


class Frame:
    """What environments and transforms say at one time.

    One array ``[environments, *shape]`` for each key; ``tensors`` are the same memory in the environment's shape.
    ``compared`` are views that show whether somebody wrote into it: all of it, or a sample of large arrays.
    """

    def __init__(self, tensors: Mapping[str, Tensor], *, batched: bool) -> None:
        self.tensors = dict(tensors)
        self.arrays: dict[str, np.ndarray] = {key: as_array(tensor, batched) for key, tensor in tensors.items()}
        self.compared = {key: _compared(array) for key, array in self.arrays.items()}


def _compared(array: np.ndarray) -> np.ndarray:
    if array.nbytes <= _COMPARED_BYTES:
        return array
    return array.reshape(-1)[:: -(-array.size // _COMPARED_NUMBERS)]


_Memory = tuple[dict[str, Tensor], list[Frame], dict[str, np.ndarray], list[int]]


class Said:
    """The rows for one entry that a policy writes; ``wanted`` is what it wrote when the collector was built."""

    def __init__(self, key: Any, wanted: Tensor, dtype: torch.dtype | None, rows: np.ndarray, *, batched: bool) -> None:
        self.key = key
        self._wanted = wanted
        self._shape = wanted.shape
        self._dtype = dtype
        self._rows = rows
        self._batched = batched

    def write(self, row: int, tensor: Tensor) -> None:
        """Raises ValueError if it is of another shape or dtype, which numpy would stretch and cast in silence."""
        if tensor.shape != self._shape or (tensor.dtype is not self._dtype and self._dtype is not None):
            raise ValueError(
                f"the policy's {self.key} is {tensor.dtype} {list(tensor.shape)} and was {self._wanted.dtype} "
                f"{list(self._shape)} when the collector was built, "
                f"{'for all environments' if self._batched else 'for the environment'}"
            )
        self._rows[row] = (tensor.detach() if tensor.requires_grad else tensor).numpy()


class Stage:
    """Memory for ``steps`` at a time.

    Args:
        frame: what the environment says, as it begins.
        said: what the policy writes, of one step.
        reward: of one step.
        batched: False for an environment without batch size: its tensors have no first dimension.

    ``frames`` are one more than ``steps``: the last of them is what the next steps begin with. ``seen``, ``said`` and
    ``rewards`` are ``[steps, environments, ...]``. ``last`` is what was seen at ends, by step, environment and key:
    the frame after it has what began there.
    """

    def __init__(
        self, frame: Mapping[str, Tensor], said: Mapping[Any, Tensor], reward: Tensor, *, batched: bool
    ) -> None:
        a_step = sum(tensor.numel() * tensor.element_size() for tensor in (*frame.values(), *said.values()))
        self.steps = min(max(_FEWEST_STEPS, _CACHED_BYTES // max(1, a_step)), _MOST_STEPS)
        self._batched = batched
        self._said = dict(said)
        self._like = dict(frame)
        self.said = {key: as_array(_rows(self.steps, tensor), batched, dim=1) for key, tensor in said.items()}
        self.rewards = as_array(_rows(self.steps, reward), batched, dim=1)
        self.last: list[tuple[int, int, dict[str, np.ndarray]]] = []
        # Memory that a policy had kept something of; one that keeps little needs two of them in turn.
        self._left: list[_Memory] = []
        self._make_frames()

    def _make_frames(self) -> None:
        self._frame = {key: _rows(self.steps + 1, tensor) for key, tensor in self._like.items()}
        self.frames = [
            Frame({key: rows[step] for key, rows in self._frame.items()}, batched=self._batched)
            for step in range(self.steps + 1)
        ]
        self.seen = {key: as_array(rows, self._batched, dim=1) for key, rows in self._frame.items()}
        self._references = self._count_references()

    def _count_references(self) -> list[int]:
        """How often the frames are held: as objects of Python, and as memory that other tensors share."""
        held = [sys.getrefcount(tensor) for frame in self.frames for tensor in frame.tensors.values()]
        return held + [count_sharers(rows) for rows in self._frame.values()]

    def _leave_kept(self) -> None:
        """Take other memory if a policy has kept what it was shown: that may not be written over."""
        if self._count_references() == self._references:
            return
        self._left = [*self._left[1 - _MOST_LEFT :], (self._frame, self.frames, self.seen, self._references)]
        for place, memory in enumerate(self._left):
            self._frame, self.frames, self.seen, self._references = memory
            if self._count_references() == self._references:
                del self._left[place]
                return
        self._make_frames()

    def said_by(self, values: Mapping[str, Tensor], *, random: bool) -> list[Said]:
        """Where what a policy says goes that said these ``values``; ``random``: the environment chose the action."""
        # A random action may have another dtype than the policy's, and is kept as the policy's are.
        return [
            Said(key, wanted, None if random else wanted.dtype, self.said[key], batched=self._batched)
            for key, wanted in self._said.items()
            if values.get(key) is not None
        ]

    def begin(self, tensors: Mapping[str, Tensor]) -> None:
        """The first frame is this."""
        self.last.clear()
        self._leave_kept()
        for key, tensor in self.frames[0].tensors.items():
            tensor.copy_(tensors[key])

    def end(self, step: int, which: Sequence[int]) -> None:
        """Keep what these saw after ``step``, before they are reset."""
        arrays = self.frames[step + 1].arrays.items()
        self.last += [(step, one, {key: array[one].copy() for key, array in arrays}) for one in which]

    def begin_again(self) -> None:
        """All steps were copied; the next begin where they ended."""
        self.last.clear()
        newest = self.frames[-1].arrays
        self._leave_kept()
        for key, array in self.frames[0].arrays.items():
            array[...] = newest[key]

    @property
    def memory(self) -> dict[str, Tensor]:
        """The memory of all frames, by key; other memory after :meth:`begin` and :meth:`begin_again`."""
        return self._frame


def as_array(tensor: Tensor, batched: bool, dim: int = 0) -> np.ndarray:
    """Its memory; ``dim`` is that of environments, which a tensor of one environment has not."""
    array: np.ndarray = (tensor if batched else tensor.unsqueeze(dim)).numpy()
    return array


def _rows(count: int, like: Tensor) -> Tensor:
    """``[count, *like.shape]``, each row of it as well aligned as a tensor of its own."""
    items = _ALIGNED_BYTES // like.element_size()
    room = -(-like.numel() // items) * items
    return torch.empty(count, room, dtype=like.dtype)[:, : like.numel()].view(count, *like.shape)
