"""Environments that normalize, and what they are like."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import torch
from tensordict import TensorDict, TensorDictBase
from tests import envs
from torchrl.envs import Compose, Transform, TransformedEnv, VecNorm, VecNormV2

from collectorfleet.actor.normalization.environment import EnvironmentNormalization

KEYS = ["observation", "reward"]


class Playback(envs.Counting):
    """Observes one number after another, and an episode is three steps."""

    def __init__(self, numbers: Sequence[float]) -> None:
        super().__init__(length=3)
        self._numbers = iter(numbers)

    def _next(self) -> torch.Tensor:
        return torch.full((3,), float(next(self._numbers, 0.0)))

    def _reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        return super()._reset(tensordict, **kwargs).set("observation", self._next())

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        seen = self._next()
        return super()._step(tensordict).update({"observation": seen, "reward": seen[:1]})


def vec_norm(decay: float) -> Transform:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return VecNorm(in_keys=KEYS, decay=decay)


def vec_norm_v2(decay: float) -> Transform:
    return VecNormV2(in_keys=KEYS, decay=decay)


def environment(transform: Transform, numbers: Sequence[float] = ()) -> TransformedEnv:
    return TransformedEnv(Playback(numbers), Compose(transform))


def normalization(env: Any) -> EnvironmentNormalization:
    found = EnvironmentNormalization.of(env, constants=True)
    assert found is not None
    return found


def see(env: Any, steps: int) -> None:
    """Play so many steps, with a reset at the beginning and after each episode."""
    data = env.reset()
    for _ in range(steps):
        data = env.step_and_maybe_reset(data.set("action", torch.zeros(*env.batch_size, 2)))[1]


def statistics(transform: Any) -> TensorDict:
    """What is in the transform, as it keeps it."""
    if isinstance(transform, VecNorm):
        return transform._td.clone()
    return TensorDict({"loc": transform._loc, "var": transform._var, "count": transform._count}).clone()
