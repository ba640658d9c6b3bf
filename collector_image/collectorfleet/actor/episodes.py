"""The episodes that end in a collector's rollouts: their returns and lengths, whoever trains on them.

Counted by trajectory ids, because rollouts are cut into batches anywhere, and batches come split, masked and from
several processes.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

import numpy as np
from tensordict import TensorDictBase

from collectorfleet.codec import frames as keys
from collectorfleet.messages import Episodes

_REWARD: Final = ("next", "reward")
_DONE: Final = ("next", "done")
# Of trajectories that have begun. One that is never ended, as when its process was lost, makes room in time.
_MOST_OPEN: Final = 100_000


class EpisodeCounter:
    """Of one collector. Keeps two numbers for each trajectory that goes on."""

    def __init__(self) -> None:
        self._open: OrderedDict[int, tuple[float, int]] = OrderedDict()

    def ended(self, batch: TensorDictBase) -> Episodes | None:
        """The episodes that end in ``batch``, in no order; None where the frames do not say.

        They say it by ``("next", "reward")`` and ``("next", "done")``, one of each for a frame, and by
        ``("collector", "traj_ids")``. An environment of several agents has several, and no return of its own.
        """
        ids, reward, done = (batch.get(key, None) for key in (keys.TRAJECTORY_KEY, _REWARD, _DONE))
        frames = batch.numel()
        if ids is None or reward is None or done is None or not ids.numel() == reward.numel() == done.numel() == frames:
            return None
        mask = batch.get(keys.MASK_KEY, None)
        valid = slice(None) if mask is None else mask.reshape(-1).cpu().numpy()
        ids, reward, done = (one.detach().reshape(-1).cpu().numpy()[valid] for one in (ids, reward, done))
        return self._count(ids, reward, done)

    def _count(self, ids: np.ndarray, reward: np.ndarray, done: np.ndarray) -> Episodes:
        if not len(ids):
            return Episodes((), ())
        # Frames of a trajectory lie behind each other, but for where rows are cut: an id may come again.
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
