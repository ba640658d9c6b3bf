"""What a rollout writes to: the batch that TorchRL's collector keeps and hands out, as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from tensordict import TensorDictBase
from torch import Tensor
from torchrl.collectors import Collector

from collectorfleet.actor.rollout.transforms import Ends

ENDS: Final = ("done", "terminated", "truncated")
TRAJECTORY: Final = ("collector", "traj_ids")


class Memory:
    """``arrays`` are ``[environments, steps, ...]``, whatever the batch size of the environment.

    For one rollout: between two of them TorchRL and hooks may put other tensors into the batch.
    """

    def __init__(self, batch: TensorDictBase, keys: Iterable[Any], *, batched: bool) -> None:
        self.batch = batch
        self.arrays: dict[Any, np.ndarray] = {
            key: (batch.get(key) if batched else batch.get(key).unsqueeze(0)).numpy() for key in keys
        }

    def check(self, values: dict[Any, Tensor], keys: Sequence[Any], *, batched: bool) -> None:
        """Raises ValueError if the policy writes something else than when the collector was built."""
        for key in keys:
            if key not in values:
                continue
            tensor = values[key]
            wanted = self.batch.get(key)
            dims = self.batch.ndim - 1
            shape = (*wanted.shape[:dims], *wanted.shape[dims + 1 :])
            if tensor.shape != shape or tensor.dtype != wanted.dtype:
                raise ValueError(
                    f"the policy's {key} is {tensor.dtype} {list(tensor.shape)} and was {wanted.dtype} {list(shape)} "
                    f"when the collector was built, {'for all environments' if batched else 'for the environment'}"
                )

    def write_ends(self, steps: int, ended: Sequence[tuple[int, Ends]]) -> None:
        """Nothing is at its end but what ``ended`` has, by step; and nothing is where a step begins."""
        for key in ENDS:
            self.arrays[key][:, :steps] = False
            after = self.arrays["next", key]
            after[:, :steps] = False
            for step, ends in ended:
                after[:, step, 0] = getattr(ends, key)


class Trajectories:
    """The ids of the trajectories, which change where one ended."""

    def __init__(self, collector: Collector) -> None:
        self._pool = collector._traj_pool
        self._ids: Tensor = collector._carrier.get(TRAJECTORY).clone()
        self._now: np.ndarray = self._ids.reshape(-1).numpy()
        self._since: list[tuple[int, np.ndarray]] = [(0, self._now.copy())]

    def end(self, step: int, which: Sequence[int]) -> None:
        self._now[which] = self._pool.get_traj_and_increment(len(which)).numpy()
        self._since.append((step + 1, self._now.copy()))

    def write(self, memory: Memory, steps: int) -> Tensor:
        """Returns the ids that the next rollout begins with."""
        ids = memory.arrays[TRAJECTORY]
        ids[:, steps:] = -1
        for since, then in self._since:
            ids[:, since:steps] = then[:, None]
        return self._ids
