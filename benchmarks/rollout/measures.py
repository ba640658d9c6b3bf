"""Measures one side on one environment in one process: frames per second, CPU of a step and peak memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from benchmarks.common.child import serve
from benchmarks.rollout.timing import best_of
from benchmarks.rollout.workloads import WORKLOADS, Runs, Workload

OURS, TORCHRL, BARE, KEEPING = "ours", "TorchRL", "bare", "bare, frames kept"


def ours(workload: Runs, together: int, steps: int) -> Iterator[None]:
    """Make batches of ``steps`` steps with the fleet's loop, and yield after each."""
    from collectorfleet.actor.build import build
    from collectorfleet.actor.config import CollectorConfig, RolloutLoop
    from collectorfleet.messages import Request

    frames = steps * together
    config = CollectorConfig(
        workload.environment(together), None, frames, policy_factory=workload.policy, rollout=RolloutLoop.FAST
    )
    runner = build(config, 0)
    number = 0
    while True:
        number += 1
        runner.run(Request(number, frames, 0))
        yield


def torchrls(workload: Workload, together: int, steps: int) -> Iterator[None]:
    """Make batches with TorchRL's collector, and yield after each."""
    from torchrl.collectors import Collector

    collector = Collector(
        workload.environment(together),
        workload.policy(),
        frames_per_batch=steps * together,
        total_frames=-1,
        return_same_td=True,
    )
    for _ in collector:
        yield


@torch.no_grad()
def bare(workload: Workload, together: int, steps: int) -> Iterator[None]:
    """Call environments and policy, keep only the newest observations, and yield after each batch."""
    envs, network = [workload.make() for _ in range(together)], workload.network()
    seen = np.stack([env.reset()[0] for env in envs])
    observation = torch.from_numpy(seen)
    while True:
        for _ in range(steps):
            for index, (env, action) in enumerate(zip(envs, workload.act(network, observation), strict=True)):
                seen[index], _, terminated, truncated, _ = env.step(action)
                if terminated or truncated:
                    seen[index], _ = env.reset()
        yield


@torch.no_grad()
def keeping(workload: Workload, together: int, steps: int) -> Iterator[None]:
    """Do the same as :func:`bare`, and copy the observations before and after each step into a batch.

    The arrays are ``[environments, steps, *observation]``.
    """
    envs, network = [workload.make() for _ in range(together)], workload.network()
    seen = np.stack([env.reset()[0] for env in envs])
    observation = torch.from_numpy(seen)
    before = np.zeros((together, steps, *seen.shape[1:]), seen.dtype)
    after = np.zeros_like(before)
    while True:
        for step in range(steps):
            before[:, step] = seen
            for index, (env, action) in enumerate(zip(envs, workload.act(network, observation), strict=True)):
                seen[index], _, terminated, truncated, _ = env.step(action)
                after[index, step] = seen[index]
                if terminated or truncated:
                    seen[index], _ = env.reset()
        yield


SIDES: dict[str, Callable[[Workload, int, int], Iterator[None]]] = {
    OURS: ours,
    TORCHRL: torchrls,
    BARE: bare,
    KEEPING: keeping,
}


def measure(case: dict[str, Any]) -> dict[str, float]:
    """Return the best of ``case["batches"]`` batches, because other load of the machine only adds time."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    together, steps = case["together"], case["steps"]
    batches = SIDES[case["side"]](WORKLOADS[case["workload"]], together, steps)
    return best_of(lambda: next(batches), case)


if __name__ == "__main__":
    serve(measure)
