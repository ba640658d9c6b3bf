"""Digests of the first observations of a collector's first episodes.

The driver compares the digests of all collectors, to detect collectors with the same seed. Such collectors deliver the
same frames. The digest uses observations that the collector collects anyway, so no additional step or reset is needed.
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
from collectorfleet.codec.tensors import fits_an_array

# Suppose that each environment draws 8 starts at random from S start states. For any S, two environments with different
# seeds draw the same 8 distinct starts in the same order with a probability below 1e-9.
STARTS: Final = 8


class FirstStarts:
    """Computes the digest of the first observations of one collector's first episodes.

    Once :meth:`digest` has returned the digest, or can no longer compute it, further calls return None at once.
    """

    def __init__(self) -> None:
        self._digests: list[bytes] = []
        self._trajectories: set[int] = set()
        self._rows: int | None = None  # number of used environments; None before the first rollout
        self._over = False

    def digest(self, batch: TensorDictBase) -> str | None:
        """Return the digest once, for the rollout with the 8th start of an episode. For other rollouts, return None.

        The method never returns a digest if two of the 8 episodes start with equal observations, as in an environment
        with few start states. It also never returns a digest if the frames have no trajectory ids.
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
        """Yield row and time of each new trajectory's first frame, in the order of time.

        ``ids`` and ``valid`` are ``[environments, time]``.
        """
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
    """Return how many environments the digest uses: up to 8, or 1 if all environments start equally.

    Environments that start equally have the same seed. So the other environments only repeat the episodes of the first
    environment.
    """
    rows = min(STARTS, math.prod(batch.shape[:-1]))
    return rows if len({_digest_of(batch, row, 0) for row in range(rows)}) > 1 else 1


def _digest_of(batch: TensorDictBase, row: int, time: int) -> bytes:
    """Return the digest of the inputs of one step: the observations, and other entries such as step counters.

    Step counters do not affect the comparison, because every episode starts with the same step count.
    """
    environment = map(int, np.unravel_index(row, batch.shape[:-1])) if batch.ndim > 1 else ()
    frame = batch[(*environment, time)]
    before, after = set(frame.keys(True, True)), frame.get("next").keys(True, True)
    digest = blake2b(digest_size=8)
    for key in sorted((key for key in after if key in before), key=str):
        try:
            value = frame.get(key)
        except RuntimeError:
            continue  # the agents of the environment have entries of different shapes
        # Torch reads no bytes of an empty tensor whose strides are 0.
        if isinstance(value, Tensor) and fits_an_array(value) and value.numel():
            plain = value.detach().reshape(-1).cpu().resolve_conj().resolve_neg()
            digest.update(plain.view(torch.uint8).numpy().tobytes())
    return digest.digest()
