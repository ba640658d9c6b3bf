"""One training run of one side, in a child process with its own Ray."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import chain
from typing import Any

import torch
from tensordict import TensorDictBase

from benchmarks.common import child
from benchmarks.common.patience import expecting
from benchmarks.raycollector import sides
from benchmarks.training import ppo


class Waited:
    """The batches of a collector. ``seconds`` is the total wait for batches, including the publishing of weights."""

    def __init__(self, batches: Iterator[TensorDictBase]) -> None:
        self._batches = batches
        self.seconds = 0.0

    def __iter__(self) -> Iterator[TensorDictBase]:
        return self

    def __next__(self) -> TensorDictBase:
        began = time.perf_counter()
        try:
            return next(self._batches)
        finally:
            self.seconds += time.perf_counter() - began


def run(case: dict[str, Any]) -> dict[str, Any]:
    """Train, write the points and the seconds of waiting, and exit.

    A case has ``side``, ``sync``, ``staleness``, ``seed`` and ``minutes``. ``staleness`` is FleetCollector's bound in
    versions; null means no bound. Seconds count from the first batch.
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
        batches = iter(collector)
        with expecting("a first batch", 120):
            first = next(batches)
        torch.manual_seed(case["seed"])
        others = Waited(batches)
        started = time.perf_counter()
        end = started + case["minutes"] * 60
        with expecting("the training to end", case["minutes"] * 60 + 120):
            updates = ppo.train(chain([first], others), policy, settings, lambda: time.perf_counter() < end)
            points = [(time.perf_counter() - started, update.frames, update.rewards) for update in updates]
        child.finish({"points": points, "waited": others.seconds})


if __name__ == "__main__":
    child.serve(run)
