"""Measures the rollout of Stable-Baselines3's PPO, whose policy also computes values.

It runs in a Python that has Stable-Baselines3.
"""

from __future__ import annotations

from typing import Any

import torch

from benchmarks.common.child import serve
from benchmarks.rollout.environments import MAKES
from benchmarks.rollout.timing import best_of


def measure(case: dict[str, Any]) -> dict[str, float]:
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import DummyVecEnv

    torch.set_num_threads(1)
    envs = DummyVecEnv([MAKES[case["workload"]]] * case["together"])
    model = PPO("MlpPolicy", envs, n_steps=case["steps"], batch_size=case["steps"], seed=0, device="cpu")
    _, callback = model._setup_learn(10**9)

    def batch() -> None:
        model.collect_rollouts(model.env, callback, model.rollout_buffer, n_rollout_steps=case["steps"])

    return best_of(batch, case)


if __name__ == "__main__":
    serve(measure)
