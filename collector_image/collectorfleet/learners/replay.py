"""The default replay actor of a shard: a separate buffer for the frames of each policy."""

from __future__ import annotations

from typing import Final

import torch
from tensordict import TensorDictBase
from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer

from collectorfleet import option_types
from collectorfleet.codec.frames import VERSION_KEY
from collectorfleet.option_ranges import Positive

# In a checkpoint, the frames of a policy are split into about this number of parts. While a checkpoint is loaded, one
# part is in memory twice.
_PARTS: Final = 16


class PolicyReplay:
    """A ring of the last ``capacity`` frames for each policy, sampled uniformly.

    A policy's buffer is made when its first frames arrive.
    """

    @option_types.checked("PolicyReplay.")
    def __init__(self, capacity: Positive = 100_000) -> None:
        self._capacity = capacity
        self._buffers: dict[str, TensorDictReplayBuffer] = {}

    def extend(self, policy_id: str, frames: TensorDictBase) -> int:
        """Add ``frames`` of shape ``[frames]``, and return the number of frames that the policy now has."""
        if policy_id not in self._buffers:
            self._buffers[policy_id] = self._empty()
        self._write(self._buffers[policy_id], frames)
        return self.size(policy_id)

    def sample(self, policy_id: str, batch_size: int) -> TensorDictBase:
        """Draw ``[batch_size]`` frames of a policy with replacement. Raise LookupError if the policy has no frames."""
        if policy_id not in self._buffers:
            raise LookupError(f"policy {policy_id!r}: no frames have arrived yet")
        found: TensorDictBase = self._buffers[policy_id].sample(batch_size)
        return found

    def size(self, policy_id: str) -> int:
        """Return the number of frames of the policy."""
        buffer = self._buffers.get(policy_id)
        return 0 if buffer is None else len(buffer)

    def weights_versions(self, policy_id: str) -> dict[int, int]:
        """Return how many frames the policy has of each version of the fleet. Frames without a version do not count."""
        buffer = self._buffers.get(policy_id)
        said = None if buffer is None else buffer[:].get(VERSION_KEY, None)
        if said is None:
            return {}
        # Adjacent frames mostly have equal versions. So first find runs of equal versions, and sort one version of each
        # run. A sort of the versions of 1,000,000 frames takes 100 ms, and each status calls this method.
        of_runs, lengths = said.unique_consecutive(return_counts=True)
        versions, places = of_runs.unique(return_inverse=True)
        frames = lengths.new_zeros(len(versions)).index_add_(0, places, lengths)
        return dict(zip(versions.tolist(), frames.tolist(), strict=True))

    def forget(self, policy_id: str) -> None:
        """Drop all frames of a removed policy."""
        self._buffers.pop(policy_id, None)

    def state_dict(self) -> dict[str, list[TensorDictBase]]:
        """Return the frames of each policy in parts, the oldest first. The parts are views of the buffers."""
        return {policy_id: _parts(buffer) for policy_id, buffer in self._buffers.items()}

    def load_state_dict(self, state: dict[str, list[TensorDictBase]]) -> None:
        """Move the frames out of ``state``, part by part, so that no whole buffer is in memory twice."""
        self._buffers = {policy_id: self._empty() for policy_id in state}
        for policy_id, buffer in self._buffers.items():
            parts = state[policy_id]
            while parts:
                self._write(buffer, parts.pop(0))

    def _write(self, buffer: TensorDictReplayBuffer, frames: TensorDictBase) -> None:
        # TorchRL would write more frames than the ring has places at once. Two frames with the same place then mix.
        buffer.extend(frames[-self._capacity :])

    def _empty(self) -> TensorDictReplayBuffer:
        return TensorDictReplayBuffer(storage=LazyTensorStorage(self._capacity))


def _parts(buffer: TensorDictReplayBuffer) -> list[TensorDictBase]:
    if not len(buffer):
        return []
    frames = buffer[:]
    # In a full ring, the oldest frame is at the next write position. In other rings, the oldest frame is at 0.
    oldest = buffer.write_count % len(frames)
    runs = [run for run in (frames[oldest:], frames[:oldest]) if len(run)]
    return [part.apply(_alone) for run in runs for part in run.split(-(-len(frames) // _PARTS))]


def _alone(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor in the same memory. Its storage has only the tensor's values, so only these values are saved."""
    begins, size = tensor.storage_offset() * tensor.element_size(), tensor.numel() * tensor.element_size()
    own = tensor.untyped_storage()[begins : begins + size]
    return torch.empty(0, dtype=tensor.dtype).set_(own, 0, tensor.shape, tensor.stride())
