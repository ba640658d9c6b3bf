"""The code of the driver that is killed. FleetCollector's driver imports the module from the manifest's folder.

RayCollector's driver is ``python driver_code.py RayCollector SEEN``.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import torch
from tests import envs

COLLECTORS = 2
FRAMES_PER_BATCH = 40
STEP_SECONDS = 0.01


def make_env() -> Any:
    return envs.Counting(length=100, step_seconds=STEP_SECONDS)


def make_policy() -> Any:
    return envs.make_policy(1.0)


def train(collector: Any, run: Any, seen: str) -> None:
    """Add 1 to the weights after each batch, and append a line about each batch to the file ``seen``."""
    progress = {"batches": 0}
    if hasattr(run, "keep"):
        run.keep(progress=progress)
    _iterate(collector, collector.policy, progress, seen)


def _iterate(collector: Any, policy: Any, progress: dict[str, int], seen: str) -> None:
    value = next(policy.parameters())
    with Path(seen).open("a") as out:
        for batch in collector:
            progress["batches"] += 1
            behind = value.item() - batch["next", "reward"] / 2
            line = {
                "at": time.time(),
                "batch": progress["batches"],
                "frames": batch.numel(),
                # The request for this batch published the current weights. Rewards are twice the weights.
                "stale": int((behind > 0.5).sum()),
            }
            out.write(json.dumps(line) + "\n")
            out.flush()
            with torch.no_grad():
                value.add_(1)


def _with_ray_collector(seen: str) -> None:
    from torchrl.collectors.distributed import RayCollector

    policy = make_policy()
    collector = RayCollector(
        [make_env] * COLLECTORS,
        policy,
        frames_per_batch=FRAMES_PER_BATCH,
        total_frames=10**12,
        sync=True,
        update_after_each_batch=True,
        remote_configs={"num_cpus": 1, "num_gpus": 0},
    )
    _iterate(collector, policy, {"batches": 0}, seen)


if __name__ == "__main__":
    _with_ray_collector(sys.argv[2])
