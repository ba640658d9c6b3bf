"""End rollouts early, so that a batch does not wait for the slowest collector."""

from __future__ import annotations

import threading

import torch
from tensordict import TensorDictBase, pad

from collectorfleet.codec import frames as keys

_REMEMBERED = 64


class EarlyEnd:
    """The ``interruptor`` of TorchRL's collector. It ends a rollout if the driver cuts the rollout's request short."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: int | None = None
        self._cut: list[int] = []

    def begin(self, request_id: int) -> None:
        with self._lock:
            self._running = request_id

    def cut(self, request_id: int) -> None:
        """End the rollout of a request early. You may call this method before the request arrives."""
        with self._lock:
            self._cut = [*self._cut[-_REMEMBERED:], request_id]

    def collection_stopped(self) -> bool:
        return self._running in self._cut


def padded(batch: TensorDictBase, steps: int) -> TensorDictBase:
    """Return the rollout, padded to ``steps`` steps, with a mask of the valid frames in ``("collector", "mask")``.

    In the added frames, the trajectory id is -1 and the mask is False.
    """
    ids = batch.get(keys.TRAJECTORY_KEY)
    mask = ids != -1
    missing = steps - batch.shape[-1]
    batch = batch.copy()
    batch[keys.COLLECTOR] = batch[keys.COLLECTOR].copy()
    batch[keys.MASK_KEY] = mask
    if not missing:
        return batch
    names = batch.names
    filled = pad(batch, [0, 0] * (batch.ndim - 1) + [0, missing])
    filled[keys.TRAJECTORY_KEY] = torch.where(filled[keys.MASK_KEY], filled[keys.TRAJECTORY_KEY], -1)
    filled.names = names
    return filled
