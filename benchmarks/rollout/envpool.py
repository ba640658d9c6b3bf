"""Measures EnvPool's environments in the fleet's loop, and with the policy alone. It needs a Python with EnvPool."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torchrl.envs import EnvBase, GymWrapper

from benchmarks.common.child import serve
from benchmarks.rollout.measures import ours
from benchmarks.rollout.timing import best_of
from benchmarks.rollout.workloads import WORKLOADS, Workload
from collectorfleet import EnvPool

# EnvPool has version 4 of MuJoCo's environments.
TASKS = {"CartPole": "CartPole-v1", "Pendulum": "Pendulum-v1", "HalfCheetah": "HalfCheetah-v4"}


@dataclass(frozen=True)
class _OnEnvPool:
    task: str
    policy: Callable[[], Any]

    def environment(self, together: int) -> EnvBase:
        return GymWrapper(EnvPool(self.task, together, num_threads=1))


def in_the_fleets_loop(workload: Workload, task: str, together: int, steps: int) -> Iterator[None]:
    return ours(_OnEnvPool(task, workload.policy), together, steps)


@torch.no_grad()
def alone(workload: Workload, task: str, together: int, steps: int) -> Iterator[None]:
    """Call environments and policy, keep nothing, and yield after each batch. EnvPool resets ended episodes."""
    import envpool

    pool, network = envpool.make_gymnasium(task, num_envs=together, num_threads=1), workload.network()
    seen, _ = pool.reset()
    while True:
        for _ in range(steps):
            seen, *_ = pool.step(np.array(workload.act(network, torch.from_numpy(seen))))
        yield


SIDES = {"ours on EnvPool": in_the_fleets_loop, "EnvPool": alone}


def measure(case: dict[str, Any]) -> dict[str, float]:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    name = case["workload"]
    batches = SIDES[case["side"]](WORKLOADS[name], TASKS[name], case["together"], case["steps"])
    return best_of(lambda: next(batches), case)


if __name__ == "__main__":
    serve(measure)
