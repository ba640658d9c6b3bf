"""Measures Sample Factory's sampler alone in one process. It runs in a Python that has Sample Factory."""

from __future__ import annotations

import tempfile
from typing import Any

import torch

from benchmarks.common.child import serve
from benchmarks.rollout.environments import MAKES
from benchmarks.rollout.timing import best_of


def measure(case: dict[str, Any]) -> dict[str, float]:
    from sample_factory.algo.sampling.simplified_sampling_api import SyncSamplingAPI
    from sample_factory.algo.utils.env_info import extract_env_info
    from sample_factory.algo.utils.make_env import make_env_func_batched
    from sample_factory.algo.utils.rl_utils import samples_per_trajectory
    from sample_factory.cfg.arguments import parse_full_cfg, parse_sf_args
    from sample_factory.envs.env_utils import register_env
    from sample_factory.model.actor_critic import create_actor_critic
    from sample_factory.utils.attr_dict import AttrDict

    torch.set_num_threads(1)
    register_env("asked", lambda *_, **__: MAKES[case["workload"]]())
    frames = case["steps"] * case["together"]
    asked = {
        "env": "asked",
        "train_dir": tempfile.mkdtemp(dir="."),
        "device": "cpu",
        "seed": 0,
        "serial_mode": True,
        "async_rl": False,
        "num_workers": 1,
        "num_envs_per_worker": case["together"],
        "worker_num_splits": 1,
        "rollout": case["steps"],
        "batch_size": frames,
        "use_rnn": False,
        "normalize_input": False,
        "nonlinearity": "tanh",
    }
    arguments = [f"--{name}={value}" for name, value in asked.items()]
    arguments += ["--encoder_mlp_layers", "64", "64"]
    parser, _ = parse_sf_args(arguments)
    cfg = parse_full_cfg(parser, arguments)
    env = make_env_func_batched(cfg, AttrDict(worker_index=0, vector_index=0, env_id=0))
    info = extract_env_info(env, cfg)
    env.close()
    sampler = SyncSamplingAPI(cfg, info)
    # With one process the learner makes the model. Here is no learner.
    model = create_actor_critic(cfg, info.obs_space, info.action_space)
    sampler.sampling_loop.param_servers[0].init(model, 0, torch.device("cpu"))
    sampler.start()

    def batch() -> None:
        there = 0
        while there < frames:
            there += samples_per_trajectory(sampler.get_trajectories_sync())

    try:
        return best_of(batch, case)
    finally:
        sampler.stop()


if __name__ == "__main__":
    serve(measure)
