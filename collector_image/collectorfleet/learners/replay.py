"""What a shard's replay actor is unless the user brings a class: frames of each policy, in a buffer of its own."""

from __future__ import annotations

from typing import Any

from tensordict import TensorDictBase
from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer

from collectorfleet.codec.frames import VERSION_KEY


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
            raise LookupError(f"policy {policy_id!r}: no frames came yet")
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

    def state_dict(self) -> dict[str, Any]:
        return {policy_id: buffer.state_dict() for policy_id, buffer in self._buffers.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._buffers = {policy_id: self._empty() for policy_id in state}
        for policy_id, buffer in self._buffers.items():
            buffer.load_state_dict(state[policy_id])

    def _empty(self) -> TensorDictReplayBuffer:
        return TensorDictReplayBuffer(storage=LazyTensorStorage(self._capacity))
