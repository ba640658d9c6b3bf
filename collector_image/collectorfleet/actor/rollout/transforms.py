"""Apply TorchRL's common transforms to all environments at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np
import torch
from torch import Tensor
from torchrl.envs import (
    CatFrames,
    DoubleToFloat,
    GrayScale,
    InitTracker,
    ObservationNorm,
    RewardSum,
    StepCounter,
    ToTensorImage,
    Transform,
)

from collectorfleet.actor.rollout.exact import FastLoopUnsupported, require
from collectorfleet.actor.rollout.stage import Frame
from collectorfleet.torchrl_private.environments import RESET_KEY
from collectorfleet.torchrl_private.transforms import frames_of, transformed

# These transforms compute an observation from the environment's present observation, without earlier observations.
BY_ITSELF: Final = (DoubleToFloat, ObservationNorm, ToTensorImage, GrayScale)


class Stepping(Protocol):
    """A transform that writes one number for each environment into the frames.

    ``key`` is the key of this number in a frame. ``cuts`` is True if the transform can truncate episodes.
    """

    key: str
    cuts: bool

    def begin(self, frame: Frame) -> None:
        """Begin a rollout with this frame."""

    def step(self, before: Frame, after: Frame, reward: np.ndarray) -> np.ndarray | None:
        """Write the number into ``after``, the frame after the step.

        Return bool ``[environments]``, True if the transform truncates the environment's episode. Return None if the
        transform truncates no episode.
        """

    def reset(self, frame: Frame, which: Sequence[int]) -> None:
        """Set the numbers in ``frame`` for the environments ``which``, which were just reset."""


class Steps:
    """The number of steps of each episode, as ``StepCounter`` counts them."""

    def __init__(self, transform: StepCounter) -> None:
        require(transform.truncated_key == "truncated", "StepCounter has a custom truncated_key")
        require(transform.update_done, "StepCounter truncates episodes without setting 'done' (update_done=False)")
        self.key: str = transform.step_count_key
        self._most: int | None = transform.max_steps
        self.cuts = self._most is not None
        self._longest = 0

    def begin(self, frame: Frame) -> None:
        self._longest = int(frame.arrays[self.key].max())

    def step(self, before: Frame, after: Frame, reward: np.ndarray) -> np.ndarray | None:  # noqa: ARG002 (a counter ignores it)
        counts = after.arrays[self.key]
        np.add(before.arrays[self.key], 1, out=counts)
        # In most steps, comparing the largest count with the limit shows that no episode is truncated.
        self._longest += 1
        if self._most is None or self._longest < self._most:
            return None
        return counts.reshape(-1) >= self._most

    def reset(self, frame: Frame, which: Sequence[int]) -> None:
        counts = frame.arrays[self.key]
        counts[which] = 0
        self._longest = int(counts.max())


class Return:
    """The sum of each episode's rewards, as ``RewardSum`` computes it."""

    cuts = False

    def __init__(self, transform: RewardSum) -> None:
        require(list(transform.in_keys) == ["reward"], "RewardSum sums entries other than the reward")
        require(transform.reset_keys == [RESET_KEY], "RewardSum has custom reset_keys")
        (self.key,) = transform.out_keys
        require(isinstance(self.key, str), f"RewardSum writes {self.key}, which is nested")

    def begin(self, frame: Frame) -> None:
        """Do nothing, because all state is in the frames."""

    def step(self, before: Frame, after: Frame, reward: np.ndarray) -> np.ndarray | None:
        np.add(before.arrays[self.key], reward, out=after.arrays[self.key])
        return None

    def reset(self, frame: Frame, which: Sequence[int]) -> None:
        frame.arrays[self.key][which] = 0


class Begun:
    """The flag that is True in the first frame of an episode, as ``InitTracker`` sets it."""

    cuts = False

    def __init__(self, transform: InitTracker) -> None:
        self.key: str = transform.init_key

    def begin(self, frame: Frame) -> None:
        """Do nothing, because all state is in the frames."""

    def step(self, before: Frame, after: Frame, reward: np.ndarray) -> np.ndarray | None:  # noqa: ARG002 (the flag is False after each step)
        after.arrays[self.key][...] = False
        return None

    def reset(self, frame: Frame, which: Sequence[int]) -> None:
        frame.arrays[self.key][which] = True


class Observed:
    """The transforms of the observation, for all environments at once: TorchRL's transforms, and a stack of frames."""

    def __init__(self, key: str, transforms: Sequence[Transform], stack: Stack | None) -> None:
        self._key = key
        self._transforms = transforms
        self._stack = stack

    @property
    def reads_frames(self) -> bool:
        """Whether an observation is computed from the previous observation."""
        return self._stack is not None

    def begin(self) -> None:
        """Begin a rollout."""
        if self._stack is not None:
            self._stack.begin()

    def step(self, raw: np.ndarray, before: Frame, after: Frame) -> None:
        """Compute the observations of a step from ``raw``, and write them into ``after``."""
        seen = self._apply(raw)
        if self._stack is None:
            after.arrays[self._key][...] = seen
        else:
            self._stack.step(seen, before.arrays[self._key], after.arrays[self._key])

    def reset(self, raw: np.ndarray, which: Sequence[int], frame: Frame) -> None:
        """Write the first observations of the environments ``which`` after their reset."""
        seen = self._apply(raw[which])
        frame.arrays[self._key][which] = seen if self._stack is None else self._stack.begun(seen)

    def store_state(self, frame: Frame) -> None:
        """Store the state of the stack in TorchRL's transform. Call this at the end of a rollout."""
        if self._stack is not None:
            self._stack.store_state(frame.arrays[self._key])

    def _apply(self, raw: np.ndarray) -> np.ndarray:
        tensor = torch.from_numpy(raw)
        for transform in self._transforms:
            tensor = transformed(transform, tensor)
        array: np.ndarray = tensor.numpy()
        return array


class Stack:
    """The stack of ``N`` observations that ``CatFrames`` makes. The newest observation is the last along an axis."""

    def __init__(self, transform: CatFrames, key: str) -> None:
        self._transform = transform
        self._key = key
        self._axis: int = transform.dim
        self._begun: np.ndarray | None = None

    def begin(self) -> None:
        # Use the stack in TorchRL's transform. The policy may have written into the stack in its observation.
        self._begun = self._buffer.clone().numpy()

    def step(self, seen: np.ndarray, before: np.ndarray, after: np.ndarray) -> None:
        if self._begun is not None:
            before, self._begun = self._begun.reshape(before.shape), None
        one = seen.shape[self._axis]
        older, newest = np.split(after, [after.shape[self._axis] - one], self._axis)
        older[...] = np.split(before, [one], self._axis)[1]
        newest[...] = seen

    def begun(self, seen: np.ndarray) -> np.ndarray:
        """Return the first stack of an episode.

        The earlier observations are copies of the first observation, or padding.
        """
        count = self._transform.N
        if self._transform.padding == "same":
            return np.concatenate([seen] * count, self._axis)
        return np.concatenate([*[np.full_like(seen, self._transform.padding_value)] * (count - 1), seen], self._axis)

    def store_state(self, stacked: np.ndarray) -> None:
        # TorchRL's transform reads this stack if environments are reset between two rollouts, or if a state is saved.
        self._buffer.copy_(torch.from_numpy(stacked).view(self._buffer.shape))

    @property
    def _buffer(self) -> Tensor:
        return frames_of(self._transform, self._key)


def vector_forms(transforms: Sequence[Transform], key: str) -> tuple[Observed | None, list[Stepping]]:
    """Return the transforms of the observation ``key``, and the transforms that write numbers.

    The first result is None if the observation has no transforms.

    Raises:
        FastLoopUnsupported: a transform cannot be applied to all environments at once.
    """
    observed: list[Transform] = []
    stack: Stack | None = None
    stepping: list[Stepping] = []
    for transform in transforms:
        match transform:
            case StepCounter() if type(transform) is StepCounter:
                stepping.append(Steps(transform))
            case RewardSum() if type(transform) is RewardSum:
                stepping.append(Return(transform))
            case InitTracker() if type(transform) is InitTracker:
                stepping.append(Begun(transform))
            case CatFrames() if type(transform) is CatFrames:
                require(
                    list(transform.in_keys) == [key] == list(transform.out_keys), f"CatFrames has other keys than {key}"
                )
                require(stack is None, "there are several CatFrames")
                stack = Stack(transform, key)
            case Transform() if type(transform) in BY_ITSELF:
                require(stack is None, f"{type(transform).__name__} follows CatFrames")
                name = type(transform).__name__
                require(
                    list(transform.in_keys) == [key] == list(transform.out_keys), f"{name} has other keys than {key}"
                )
                require(not transform.in_keys_inv, f"{name} changes actions")
                observed.append(transform)
            case _:
                raise FastLoopUnsupported(
                    f"the transform {type(transform).__name__} cannot be applied to all environments at once"
                )
    keys = [one.key for one in stepping]
    require(len(set(keys)) == len(keys), f"several transforms write {', '.join(keys)}")
    return Observed(key, observed, stack) if observed or stack else None, stepping
