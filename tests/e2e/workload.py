"""Code of the users in the end-to-end tests; mounted into the fleet's pods from a ConfigMap."""

from __future__ import annotations

import time
from typing import Any

import torch
from tensordict.nn import ProbabilisticTensorDictModule, ProbabilisticTensorDictSequential, TensorDictModule
from torch import nn
from torch.distributions import Categorical
from torchrl.envs import GymEnv


def make_env() -> Any:
    return GymEnv("CartPole-v1", categorical_action_encoding=True)


def broken_env() -> Any:
    raise ValueError("no such game: Pong on the moon")


def make_policy() -> Any:
    net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
    return ProbabilisticTensorDictSequential(
        TensorDictModule(net, in_keys=["observation"], out_keys=["logits"]),
        ProbabilisticTensorDictModule(in_keys=["logits"], out_keys=["action"], distribution_class=Categorical),
    )


def train(collector: Any, run: Any, batches: int | None = None) -> None:
    """Change the weights after every batch, as training would, for ``batches`` batches or for ever."""
    for number, _batch in enumerate(collector, start=1):
        with torch.no_grad():
            for parameter in collector.policy.parameters():
                parameter.add_(0.001 * torch.randn_like(parameter))
        run.report(batch=number)
        if number == batches:
            return
        time.sleep(0.05)  # a trainer works too


def train_fails(collector: Any, run: Any) -> None:
    for number, _batch in enumerate(collector, start=1):
        if number == 3:
            raise RuntimeError("loss is NaN at batch 3")
