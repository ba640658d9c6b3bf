"""What these tests make, and what they read out of batches: rewards of counting environments are twice the weights."""

from __future__ import annotations

from collections.abc import Callable

import torch
from tensordict import TensorDictBase

from collectorfleet import FleetCollector

Make = Callable[..., FleetCollector]

VERSION = ("collector", "weights_version")
TRAJECTORY = ("collector", "traj_ids")


def values(batch: TensorDictBase) -> set[float]:
    """The values of the weights that made the frames."""
    return set((batch["next", "reward"].flatten() / 2).tolist())


def learn(collector: FleetCollector, by: float = 1.0) -> None:
    with torch.no_grad():
        for parameter in collector.policy.parameters():
            parameter.add_(by)


def available(collector: FleetCollector) -> int:
    """Return how many collectors have loaded weights and deliver."""
    progress = collector.status().progress
    return progress.collectors.available if progress and progress.collectors else 0
