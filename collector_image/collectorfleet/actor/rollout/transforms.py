"""TorchRL's common transforms over all environments at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from torchrl.envs import DoubleToFloat, ObservationNorm, RewardSum, StepCounter, Transform

from collectorfleet.actor.rollout.exact import NotExact, require
from collectorfleet.actor.rollout.frame import Frame


class Ends:
    """Which environments are at their end after a step."""

    def __init__(self, terminated: Sequence[bool], truncated: Sequence[bool]) -> None:
        self.terminated = np.array(terminated, bool)
        self.truncated = np.array(truncated, bool)
        self.done = self.terminated | self.truncated

    def cut(self, which: np.ndarray) -> None:
        """A transform truncates these."""
        self.truncated |= which
        self.done |= self.truncated

    def which(self) -> list[int]:
        """Those that are reset, in their order."""
        found: list[int] = np.flatnonzero(self.done).tolist()
        return found


class Stepping(Protocol):
    """A transform that keeps a number for each environment under ``key``, in the frames."""

    key: str

    def begin(self, frame: Frame) -> None:
        """A rollout begins with this."""

    def step(self, before: Frame, after: Frame, reward: np.ndarray) -> np.ndarray | None:
        """Write ``after``; returns which environments it truncates, None where it truncates none."""

    def reset(self, frame: Frame, which: Sequence[int]) -> None:
        """These environments were reset."""


class Steps:
    """``StepCounter``."""

    def __init__(self, transform: StepCounter) -> None:
        require(transform.truncated_key == "truncated", "StepCounter has a truncated_key of its own")
        require(transform.update_done, "StepCounter truncates episodes that are not done (update_done)")
        self.key: str = transform.step_count_key
        self._most: int | None = transform.max_steps
        self._longest = 0

    def begin(self, frame: Frame) -> None:
        self._longest = int(frame.arrays[self.key].max())

    def step(self, before: Frame, after: Frame, reward: np.ndarray) -> np.ndarray | None:  # noqa: ARG002 (a counter has no use for it)
        counts = after.arrays[self.key]
        np.add(before.arrays[self.key], 1, out=counts)
        # One number is compared in each step, and all of them only when one is there.
        self._longest += 1
        if self._most is None or self._longest < self._most:
            return None
        return counts.reshape(-1) >= self._most

    def reset(self, frame: Frame, which: Sequence[int]) -> None:
        counts = frame.arrays[self.key]
        counts[which] = 0
        self._longest = int(counts.max())


class Return:
    """``RewardSum``."""

    def __init__(self, transform: RewardSum) -> None:
        require(list(transform.in_keys) == ["reward"], "RewardSum sums something else than the reward")
        require(transform.reset_keys == ["_reset"], "RewardSum has reset_keys of its own")
        (self.key,) = transform.out_keys
        require(isinstance(self.key, str), f"RewardSum writes {self.key}, which is nested")

    def begin(self, frame: Frame) -> None:
        """Keeps nothing beside the frames."""

    def step(self, before: Frame, after: Frame, reward: np.ndarray) -> np.ndarray | None:
        np.add(before.arrays[self.key], reward, out=after.arrays[self.key])
        return None

    def reset(self, frame: Frame, which: Sequence[int]) -> None:
        frame.arrays[self.key][which] = 0


class Observed:
    """Transforms that take each number of the observation by itself: TorchRL's own, on all environments at once."""

    def __init__(self, transforms: Sequence[Transform]) -> None:
        self._transforms = transforms

    def apply(self, raw: np.ndarray) -> np.ndarray:
        tensor = torch.from_numpy(raw)
        for transform in self._transforms:
            tensor = transform._apply_transform(tensor)
        array: np.ndarray = tensor.numpy()
        return array


def vector_forms(transforms: Sequence[Transform], key: str) -> tuple[Observed | None, list[Stepping]]:
    """Those of the observation ``key``, None if there is none of them, and those that keep numbers.

    Raises:
        NotExact: one of them has no such form.
    """
    observed: list[Transform] = []
    stepping: list[Stepping] = []
    for transform in transforms:
        match transform:
            case StepCounter() if type(transform) is StepCounter:
                stepping.append(Steps(transform))
            case RewardSum() if type(transform) is RewardSum:
                stepping.append(Return(transform))
            case DoubleToFloat() | ObservationNorm() if type(transform) in (DoubleToFloat, ObservationNorm):
                name = type(transform).__name__
                require(list(transform.in_keys) == [key] == list(transform.out_keys), f"{name} is not of {key} alone")
                require(not transform.in_keys_inv, f"{name} changes actions")
                observed.append(transform)
            case _:
                raise NotExact(f"the transform {type(transform).__name__} has no form for all environments at once")
    keys = [one.key for one in stepping]
    require(len(set(keys)) == len(keys), f"several transforms write {', '.join(keys)}")
    return Observed(observed) if observed else None, stepping
