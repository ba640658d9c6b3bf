"""Compute returns and lengths of the episodes that end in a collector's rollouts, for any training algorithm.

The counter identifies episodes by trajectory ids. A batch may begin or end at any frame of an episode. A batch may also
be split or masked, or come from several processes.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

import numpy as np
import torch
from tensordict import TensorDictBase

from collectorfleet.codec import frames as keys
from collectorfleet.messages import Episodes

_REWARD: Final = ("next", "reward")
_DONE: Final = ("next", "done")
# The maximum number of unfinished trajectories that are kept. Above this number, the oldest trajectory is dropped. Some
# trajectories never finish, such as the trajectories of a lost process.
_MOST_OPEN: Final = 100_000


class EpisodeCounter:
    """Counts one collector's episodes. The counter stores the return and the length of each unfinished trajectory."""

    def __init__(self) -> None:
        self._open: OrderedDict[int, tuple[float, int]] = OrderedDict()

    def ended(self, batch: TensorDictBase) -> Episodes | None:
        """Return the episodes that end in ``batch``, unordered. Return None if the frames lack the required entries.

        The required entries are ``("next", "reward")``, ``("next", "done")`` and ``("collector", "traj_ids")``. Each
        entry must have one value for each frame. The reward must not be complex. An environment with several agents has
        several rewards for each frame. Its episodes have no single return, so the result is None.
        """
        ids, reward, done = (batch.get(key, None) for key in (keys.TRAJECTORY_KEY, _REWARD, _DONE))
        frames = batch.numel()
        if ids is None or reward is None or done is None or not ids.numel() == reward.numel() == done.numel() == frames:
            return None
        if reward.is_complex():
            return None
        mask = batch.get(keys.MASK_KEY, None)
        valid = slice(None) if mask is None else mask.reshape(-1).cpu().numpy()
        # Convert rewards to float64: numpy has no bfloat16, and returns are sums in float64.
        reward = reward.detach().to("cpu", torch.float64)
        ids, reward, done = (one.detach().reshape(-1).cpu().numpy()[valid] for one in (ids, reward, done))
        return self._count(ids, reward, done)

    def _count(self, ids: np.ndarray, reward: np.ndarray, done: np.ndarray) -> Episodes:
        if not len(ids):
            return Episodes((), ())
        # The frames of a trajectory are adjacent, unless the batch was cut within the trajectory. So an id may occur in
        # several pieces.
        begins = np.flatnonzero(np.diff(ids, prepend=ids[0] - 1))
        found, lengths = ids[begins], np.diff(begins, append=len(ids))
        returns = np.add.reduceat(reward, begins, dtype=np.float64)
        over = np.logical_or.reduceat(done, begins)
        ended: list[tuple[float, int]] = []
        for id_, return_, length, is_over in zip(
            found.tolist(), returns.tolist(), lengths.tolist(), over.tolist(), strict=True
        ):
            before, frames = self._open.pop(id_, (0.0, 0))
            total = (before + return_, frames + length)
            if is_over:
                ended.append(total)
            else:
                self._open[id_] = total
        while len(self._open) > _MOST_OPEN:
            self._open.popitem(last=False)
        return Episodes(tuple(total for total, _ in ended), tuple(length for _, length in ended))
