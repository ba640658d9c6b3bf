"""Read and write entries of a rollout's frames before the collector sends the frames."""

from __future__ import annotations

from typing import Final

import torch
from tensordict import TensorDict, TensorDictBase
from torch import Tensor

from collectorfleet.actor.stamp import STAMP, STAMP_KEY
from collectorfleet.codec import frames as keys

# The entry in which TorchRL's inference service reports the weights version that chose the action.
SERVICE_VERSION: Final = "policy_version"


def on_the_cpu(batch: TensorDictBase) -> TensorDictBase:
    """Return ``batch`` with all its tensors on the CPU.

    If all tensors are on the CPU already, the result is ``batch`` itself. Otherwise the result is a copy, because the
    reader may have no GPU.
    """
    elsewhere = any(entry.device.type != "cpu" for entry in batch.values(True, True) if isinstance(entry, Tensor))
    return batch.cpu() if elsewhere else batch


def valid_frames(batch: TensorDictBase) -> int:
    """Return the number of frames that the mask of ``batch`` marks as valid. Without a mask, all frames are valid."""
    mask = batch.get(keys.MASK_KEY, None)
    return batch.numel() if mask is None else int(mask.sum())


def with_service_version(batch: TensorDictBase) -> TensorDictBase:
    """Set the weights version of the frames to the service's version, because the service runs the policy."""
    batch = batch.copy()
    versions = batch[SERVICE_VERSION].to(torch.int64)
    collector = batch.get(keys.COLLECTOR, None)
    batch[keys.COLLECTOR] = TensorDict(batch_size=batch.batch_size) if collector is None else collector.copy()
    batch[keys.VERSION_KEY] = versions.reshape(batch.batch_size)
    return batch


def take_stamped_versions(batch: TensorDictBase) -> tuple[TensorDictBase, int]:
    """Move the stamps of the frames to the entry with the weights version.

    Return the new batch, and the oldest version of its valid frames. Without valid frames, the version is 0.
    """
    batch = batch.copy()
    batch["next"] = batch["next"].copy()
    stamps = batch.pop(STAMP_KEY)
    batch.pop(STAMP, None)  # the stamp of the previous step
    collector = batch.get(keys.COLLECTOR, None)
    batch[keys.COLLECTOR] = TensorDict(batch_size=batch.batch_size) if collector is None else collector.copy()
    batch[keys.VERSION_KEY] = stamps
    mask = batch.get(keys.MASK_KEY, None)
    valid = stamps if mask is None else stamps[mask]
    return batch, int(valid.min()) if valid.numel() else 0
