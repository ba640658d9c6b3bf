"""Write a rollout as arrays into the batch that TorchRL's collector returns. TorchRL's collector reuses this batch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from tensordict import TensorDictBase
from torch import Tensor
from torchrl.collectors import Collector

from collectorfleet.actor.rollout.ends import RolloutEnds
from collectorfleet.actor.rollout.stage import Frame, Stage, as_array
from collectorfleet.torchrl_private.collectors import carrier_of, new_trajectories

ENDS: Final = ("done", "terminated", "truncated")
TRAJECTORY: Final = ("collector", "traj_ids")


class Memory:
    """The arrays of the batch for one rollout. For any batch size, the shape is ``[environments, steps, ...]``.

    TorchRL and hooks may replace tensors of the batch between two rollouts, so each rollout needs a new instance.
    """

    def __init__(self, batch: TensorDictBase, keys: Iterable[Any], *, batched: bool) -> None:
        self.batch = batch
        entries = {key: batch.get(key) for key in keys}
        # A hook may have removed an entry from the batch. Like TorchRL, this class does not write a removed entry.
        self.arrays: dict[Any, np.ndarray] = {
            key: as_array(entry, batched) for key, entry in entries.items() if entry is not None
        }

    def write(self, stage: Stage, outputs: Iterable[Any], first: int, steps: int) -> None:
        """Copy the first ``steps`` steps of the stage into the batch.

        The stage's first step becomes step ``first`` of the batch. ``outputs`` are the keys of the policy's outputs.
        """
        time = slice(first, first + steps)
        for key, rows in stage.seen.items():
            self._write(key, time, rows[:steps])
            after = self.arrays.get(("next", key))
            if after is not None:  # compact batches lack this entry
                after[:, time] = rows[1 : steps + 1].swapaxes(0, 1)
                for step, one, last in stage.last:
                    after[one, first + step] = last[key]
        for key in outputs:
            self._write(key, time, stage.outputs[key][:steps])
        self._write(("next", "reward"), time, stage.rewards[:steps])

    def write_next(self, step: int, frame: Frame) -> None:
        """Overwrite the observations after ``step`` with ``frame``."""
        for key, array in frame.arrays.items():
            after = self.arrays.get(("next", key))
            if after is not None:
                after[:, step] = array

    def write_ends(self, steps: int, ended: RolloutEnds) -> None:
        """Write the flags of the episodes that ``ended`` lists. The flags of all other steps are False.

        At the start of a step, ``done``, ``terminated`` and ``truncated`` are always False.
        """
        for key, how in zip(ENDS, (True, ended.terminated, ended.truncated), strict=True):
            before, after = self.arrays.get(key), self.arrays.get(("next", key))
            if before is not None:
                before[:, :steps] = False
            if after is not None:
                after[:, :steps] = False
                after[ended.which, ended.steps, 0] = how

    def write_trajectories(self, steps: int, ended: RolloutEnds, collector: Collector) -> Tensor:
        """Write the trajectory ids. After each end of an episode, a new id begins.

        Return the ids at the start of the next rollout.
        """
        now: Tensor = carrier_of(collector).get(TRAJECTORY).clone()
        last = now.reshape(-1).numpy()
        ids = self.arrays[TRAJECTORY]
        ids[:, :steps] = last[:, None]
        ids[:, steps:] = -1
        if not ended.which:
            return now
        fresh = new_trajectories(collector, len(ended.which)).tolist()
        for step, one, traj in zip(ended.steps, ended.which, fresh, strict=True):
            ids[one, step + 1 : steps] = last[one] = traj
        return now

    def _write(self, key: Any, time: slice, rows: np.ndarray) -> None:
        array = self.arrays.get(key)
        if array is not None:
            array[:, time] = rows.swapaxes(0, 1)


def name_of_entry(key: Any) -> str:
    """Return the name that messages use for the key. The name does not include ``next``."""
    return key if isinstance(key, str) else ".".join(key[1:] if key[0] == "next" else key)


def missing_entry(name: str, where: str) -> ValueError:
    """Return the error for an entry that only some steps have.

    Without this error, the batch would have the value of another step.
    """
    return ValueError(f"{name} is missing {where}; return each entry of the spec at each step and each reset")
