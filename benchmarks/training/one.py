"""One training run of one side, in a process with a Ray of its own."""

from __future__ import annotations

import time
from typing import Any

import torch

from benchmarks.common import child
from benchmarks.common.patience import expecting
from benchmarks.raycollector import sides
from benchmarks.training import ppo


def run(case: dict[str, Any]) -> dict[str, Any]:
    """A case has ``side``, ``sync``, ``staleness``, ``seed`` and ``minutes``. Seconds count from the first batch.

    ``staleness`` bounds FleetCollector's batches; null is none.
    """
    torch.set_num_threads(1)  # the networks are too small to share a step between cores
    torch.manual_seed(case["seed"])
    settings = ppo.Settings()
    policy = ppo.make_policy()
    options: dict[str, Any] = {"update_after_each_batch": True}
    frames = settings.frames_per_batch if case["sync"] else settings.frames_per_batch // settings.collectors
    if case["side"] == sides.FLEET:
        options["max_staleness"] = case["staleness"]
    with child.local_ray(num_cpus=settings.collectors):
        with expecting(f"{case['side']}(...)", 120):
            collector = sides.MAKE[case["side"]](
                ppo.MakeEnv(settings.envs),
                policy,
                collectors=settings.collectors,
                frames=frames,
                sync=case["sync"],
                **options,
            )
        torch.manual_seed(case["seed"])
        started = time.perf_counter()
        end = started + case["minutes"] * 60
        with expecting("the training to end", case["minutes"] * 60 + 120):
            updates = ppo.train(iter(collector), policy, settings, lambda: time.perf_counter() < end)
            points = [(time.perf_counter() - started, update.frames, update.rewards) for update in updates]
        child.finish({"points": points})


if __name__ == "__main__":
    child.serve(run)
