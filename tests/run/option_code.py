"""Code of a user whose manifest sets many options; it reports what came of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import ray
import torch
from tensordict import TensorDictBase
from tests.envs import Counting
from torch import nn
from torchrl.data import LazyTensorStorage, ReplayBuffer

# A variable of ours: programs that differ in it alone are forks of one server (tests/forks/environments.py).
ENV_HOOKS = "COLLECTORFLEET_TESTS_HOOKS"


class WorldModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.level = nn.Parameter(torch.zeros(1))


class Imagining(Counting):
    """Its reward is what the world model says."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.world_model = WorldModel()

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        return super()._step(tensordict).set("reward", self.world_model.level.detach().clone())


def make_env(**kwargs: Any) -> Imagining:
    return Imagining(**kwargs)


def make_world_model() -> WorldModel:
    return WorldModel()


def make_postproc(key: str) -> Callable[[TensorDictBase], TensorDictBase]:
    return lambda batch: batch.set(key, torch.ones(batch.shape))


def before() -> None:
    _note("before")


def after(batch: TensorDictBase) -> None:
    _note(f"{batch.numel()} frames, {torch.get_num_threads()} threads")


def _note(line: str) -> None:
    with Path(os.environ[ENV_HOOKS]).open("a") as file:
        file.write(f"{line}\n")


def train(collector: Any, run: Any) -> None:
    """Report of each batch, by its number, what the options made of it."""
    world_model = collector.models["env.world_model"]
    for number, batch in enumerate(collector):
        action = batch["action"]
        run.report(
            **{
                f"shares{number}": batch.shape[0],
                f"frames{number}": batch.shape[1],
                f"longest{number}": batch["next", "observation"].max(),
                f"different_actions{number}": action.unique().numel(),
                f"action{number}": action.flatten()[0],
                f"reward{number}": batch["next", "reward"].mean(),
                f"postproc{number}": batch["made"].mean(),
            }
        )
        with torch.no_grad():
            world_model.level.fill_(number + 1)


def train_on_steps(collector: Any, run: Any) -> None:
    batches = list(collector)
    run.report(
        batches=len(batches),
        frames=batches[0].numel(),
        shares=batches[0].shape[0],
        trajectories=batches[0][0]["collector", "traj_ids"].unique().numel(),
    )


def make_buffer(size: int) -> ReplayBuffer:
    here = {f"node:{ray.util.get_node_ip_address()}": 0.001}
    return ReplayBuffer(
        storage=partial(LazyTensorStorage, size),
        batch_size=64,
        service_backend="ray",
        service_backend_options={"remote_config": {"num_cpus": 0, "resources": here}},
    )


def train_from_buffer(collector: Any, run: Any) -> None:
    batches = list(collector)
    sample = collector.replay_buffer.sample()
    run.report(
        nothing=all(batch is None for batch in batches),
        batches=len(batches),
        written=len(collector.replay_buffer),
        sampled=sample.numel(),
        version=sample["collector", "weights_version"].float().mean(),
    )


def make_plain_buffer(size: int) -> ReplayBuffer:
    return ReplayBuffer(storage=LazyTensorStorage(size), batch_size=64)
