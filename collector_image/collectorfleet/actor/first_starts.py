"""One digest of the observations that a collector's first episodes begin with. The driver compares the digests.

Collectors with one seed for all of them deliver the same frames, and nothing else tells. The digest is made of
observations that were collected anyway; the environment is neither stepped nor reset for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from hashlib import blake2b
from typing import Final

import numpy as np
import torch
from tensordict import TensorDictBase
from torch import Tensor

from collectorfleet.codec import frames as keys

# So many starts of two environments with S random starting states are distinct in each, and equal between them, with a
# probability below 1e-9. This holds for every S.
STARTS: Final = 8


class FirstStarts:
    """Of one collector. Costs nothing once there is a digest, or once it is clear that there will be none."""

    def __init__(self) -> None:
        self._digests: list[bytes] = []
        self._trajectories: set[int] = set()
        self._rows: int | None = None  # so many environments are looked at; None before the first rollout
        self._over = False

    def digest(self, batch: TensorDictBase) -> str | None:
        """Return the digest of the first starts, once: with the rollout in which the last of them is.

        There is no digest if two starts are equal, as in an environment that always starts in one of a few states.
        There is none either if the frames do not say where trajectories begin.
        """
        if self._over or batch.get("next", None) is None:
            return None
        ids = batch.get(keys.TRAJECTORY_KEY, None)
        if ids is None or ids.numel() != batch.numel():
            self._over = True
            return None
        rows = ids.reshape(-1, batch.shape[-1]).cpu().numpy()
        if self._rows is None:
            self._rows = _distinct_rows(batch)
        rows = rows[: self._rows]
        mask = batch.get(keys.MASK_KEY, None)
        valid = rows >= 0
        if mask is not None:
            valid &= mask.reshape(-1, batch.shape[-1]).cpu().numpy()[: self._rows]
        for row, time in self._starts(rows, valid):
            found = _digest_of(batch, row, time)
            if found in self._digests:
                self._over = True
                return None
            self._digests.append(found)
            if len(self._digests) == STARTS:
                self._over = True
                return blake2b(b"".join(self._digests), digest_size=16).hexdigest()
        return None

    def _starts(self, ids: np.ndarray, valid: np.ndarray) -> Iterator[tuple[int, int]]:
        """Rows and times of ``ids`` [environments, time] at which a trajectory begins, the earliest first."""
        changes = valid.copy()
        changes[:, 1:] &= ids[:, 1:] != ids[:, :-1]
        rows, times = np.nonzero(changes)
        for place in np.lexsort((rows, times)):
            row, time = int(rows[place]), int(times[place])
            trajectory = int(ids[row, time])
            if trajectory not in self._trajectories:
                self._trajectories.add(trajectory)
                yield row, time


def _distinct_rows(batch: TensorDictBase) -> int:
    """How many environments to look at; one if all begin alike: they have one seed, and repeat what the first shows."""
    rows = min(STARTS, math.prod(batch.shape[:-1]))
    return rows if len({_digest_of(batch, row, 0) for row in range(rows)}) > 1 else 1


def _digest_of(batch: TensorDictBase, row: int, time: int) -> bytes:
    """Of what that step is taken from: observations, and the like of step counters, which are equal at each start."""
    environment = map(int, np.unravel_index(row, batch.shape[:-1])) if batch.ndim > 1 else ()
    frame = batch[(*environment, time)]
    before, after = set(frame.keys(True, True)), frame.get("next").keys(True, True)
    digest = blake2b(digest_size=8)
    for key in sorted((key for key in after if key in before), key=str):
        value = frame.get(key)
        if isinstance(value, Tensor):
            digest.update(value.detach().reshape(-1).cpu().view(torch.uint8).numpy().tobytes())
    return digest.digest()
