"""Measures RLlib's env runner alone, with the configuration of PPO. It runs in a Python that has RLlib."""

from __future__ import annotations

from typing import Any

import torch

from benchmarks.common.child import serve
from benchmarks.rollout.environments import MAKES
from benchmarks.rollout.timing import best_of


def measure(case: dict[str, Any]) -> dict[str, float]:
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
    from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
    from ray.tune.registry import register_env

    torch.set_num_threads(1)
    torch.manual_seed(0)
    register_env("asked", lambda _: MAKES[case["workload"]]())
    config = (
        PPOConfig()
        .environment("asked")
        .env_runners(num_env_runners=0, num_envs_per_env_runner=case["together"], rollout_fragment_length=case["steps"])
        .rl_module(model_config=DefaultModelConfig(fcnet_hiddens=[64, 64], fcnet_activation="tanh"))
    )
    runner = SingleAgentEnvRunner(config=config)
    frames = case["steps"] * case["together"]
    return best_of(lambda: runner.sample(num_timesteps=frames, random_actions=False), case)


if __name__ == "__main__":
    serve(measure)
