"""What a shard's replay actor is unless the user brings a class: frames of each policy, in a buffer of its own."""

from __future__ import annotations

from typing import Final

import torch
from tensordict import TensorDictBase
from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer

from collectorfleet.codec.frames import VERSION_KEY

# Of a policy's frames in a checkpoint: while it is read, one of them is in memory twice.
_PARTS: Final = 16


class PolicyReplay:
    """A ring of the last ``capacity`` frames for each policy, sampled uniformly.

    A policy's buffer begins with its first frames.
    """

    def __init__(self, capacity: int = 100_000) -> None:
        self._capacity = capacity
        self._buffers: dict[str, TensorDictReplayBuffer] = {}

    def extend(self, policy_id: str, frames: TensorDictBase) -> int:
        """Keep ``frames``, ``[frames]``; returns how many there are of the policy now."""
        if policy_id not in self._buffers:
            self._buffers[policy_id] = self._empty()
        self._buffers[policy_id].extend(frames)
        return self.size(policy_id)

    def sample(self, policy_id: str, batch_size: int) -> TensorDictBase:
        """Frames of the policy, ``[batch_size]``, drawn with replacement. Raises LookupError if there are none."""
        if policy_id not in self._buffers:
            raise LookupError(f"policy {policy_id!r}: no frames have arrived yet")
        found: TensorDictBase = self._buffers[policy_id].sample(batch_size)
        return found

    def size(self, policy_id: str) -> int:
        """Frames that there are of the policy."""
        buffer = self._buffers.get(policy_id)
        return 0 if buffer is None else len(buffer)

    def weights_versions(self, policy_id: str) -> dict[int, int]:
        """How many of the policy's frames were made with each version of the fleet; none of those that do not say."""
        buffer = self._buffers.get(policy_id)
        said = None if buffer is None else buffer[:].get(VERSION_KEY, None)
        if said is None:
            return {}
        versions, frames = said.unique(return_counts=True)
        return dict(zip(versions.tolist(), frames.tolist(), strict=True))

    def forget(self, policy_id: str) -> None:
        """Drop all frames of a policy, which was removed."""
        self._buffers.pop(policy_id, None)

    def state_dict(self) -> dict[str, list[TensorDictBase]]:
        """The frames of each policy in parts, the oldest first; they are views of the buffers, and no copies."""
        return {policy_id: _parts(buffer) for policy_id, buffer in self._buffers.items()}

    def load_state_dict(self, state: dict[str, list[TensorDictBase]]) -> None:
        """Take the frames out of ``state``, part by part: so no buffer is in memory twice."""
        self._buffers = {policy_id: self._empty() for policy_id in state}
        for policy_id, buffer in self._buffers.items():
            parts = state[policy_id]
            while parts:
                buffer.extend(parts.pop(0))

    def _empty(self) -> TensorDictReplayBuffer:
        return TensorDictReplayBuffer(storage=LazyTensorStorage(self._capacity))


def _parts(buffer: TensorDictReplayBuffer) -> list[TensorDictBase]:
    if not len(buffer):
        return []
    frames = buffer[:]
    # A full ring begins where its next frame goes, any other one at 0.
    oldest = buffer.write_count % len(frames)
    runs = [run for run in (frames[oldest:], frames[:oldest]) if len(run)]
    return [part.apply(_alone) for run in runs for part in run.split(-(-len(frames) // _PARTS))]


def _alone(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory as a tensor without the rest of what it is a part of, which would be written with it."""
    begins, size = tensor.storage_offset() * tensor.element_size(), tensor.numel() * tensor.element_size()
    own = tensor.untyped_storage()[begins : begins + size]
    return torch.empty(0, dtype=tensor.dtype).set_(own, 0, tensor.shape, tensor.stride())
