"""Environments and policies that several tests of rollout loops share."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from tensordict.nn import TensorDictModule
from tests import tensor_envs
from tests.gym_envs import Chance, make_chance
from torch import nn
from torchrl.envs import (
    CatFrames,
    CatTensors,
    Compose,
    DoubleToFloat,
    EnvBase,
    FrameSkipTransform,
    GymWrapper,
    InitTracker,
    ObservationNorm,
    RewardClipping,
    RewardScaling,
    RewardSum,
    SerialEnv,
    StepCounter,
    TransformedEnv,
    VecNormV2,
)
from torchrl.modules import MLP, NormalParamExtractor, ProbabilisticActor, TanhNormal

Make = Callable[[], EnvBase]


def transformed(make: Make, *transforms: Callable[[], Any]) -> EnvBase:
    """Return the environment with the transforms, in this order."""
    return TransformedEnv(make(), Compose(*[transform() for transform in transforms]))


def together(actions: int) -> EnvBase:
    """Return three equal environments that are stepped together."""
    return SerialEnv(3, partial(make_chance, actions=actions))


def several_kinds() -> EnvBase:
    """Return two environments that are stepped together, one of which ends more often."""
    return SerialEnv(2, [make_chance, partial(make_chance, ends=0.5)])


def vectors(
    mode: AutoresetMode, together: int = 3, kind: Any = SyncVectorEnv, chain: tuple[Any, ...] = (), **arguments: Any
) -> EnvBase:
    """Return environments of Gymnasium that are stepped as its vector, with the transforms."""
    env = GymWrapper(kind([partial(Chance, **arguments)] * together, autoreset_mode=mode))
    for transform in chain:
        env = TransformedEnv(env, transform())
    return env


NORMAL = partial(ObservationNorm, loc=0.5, scale=2.0, in_keys=["observation"])
STATISTICS = partial(VecNormV2, in_keys=["observation"])
COUNTED = (StepCounter, RewardSum, InitTracker)
SCALED = partial(RewardScaling, loc=0.5, scale=2.0)
REWARDED = (
    partial(RewardClipping, -0.5, 0.5),
    partial(CatTensors, ["observation"], out_key="all", del_keys=False),
    partial(DoubleToFloat, in_keys=["height"], out_keys=["height"]),
)
# Batches of tensors: the loop that steps them runs on their device.
TENSORS: dict[str, Make] = {
    "reset by the host": partial(tensor_envs.Walks, 4),
    "reset by the mask": partial(tensor_envs.MaskedWalks, 4),
    "one": partial(tensor_envs.MaskedWalks, 1),
    "resets itself": partial(tensor_envs.SelfResettingWalks, 4),
    "resets itself, transformed": partial(transformed, partial(tensor_envs.SelfResettingWalks, 3), *COUNTED),
    "draws from torch": partial(tensor_envs.DrawingWalks, 4),
    "flat": partial(tensor_envs.FlatWalks, 4),
    "says done": partial(tensor_envs.MaskedWalks, 3, ("done",)),
    "says terminated": partial(tensor_envs.Walks, 3, ("terminated",)),
    "says terminated and truncated": partial(tensor_envs.MaskedWalks, 3, ("terminated", "truncated")),
    "normal": partial(transformed, partial(tensor_envs.MaskedWalks, 3), NORMAL, SCALED, *COUNTED),
    "statistics": partial(transformed, partial(tensor_envs.MaskedWalks, 3), STATISTICS, RewardSum),
    "transformed": partial(transformed, partial(tensor_envs.MaskedWalks, 3), *COUNTED, *REWARDED),
    "truncated": partial(transformed, partial(tensor_envs.MaskedWalks, 3), partial(StepCounter, 3)),
}

GRID = (2, 5)
STACKED = partial(CatFrames, 2, dim=-1, in_keys=["observation"])
SHIFTED = partial(ObservationNorm, 1.0, 2.0, in_keys=["observation"])
LIMITED = partial(StepCounter, 9)
# Environments of Gymnasium, each with the number of its observations.
GYMNASIUM: dict[str, tuple[Make, int]] = {
    "alone": (make_chance, 3),
    "several": (partial(SerialEnv, 3, make_chance), 3),
    "counted": (partial(transformed, make_chance, LIMITED, RewardSum, InitTracker), 3),
    "several, counted": (partial(transformed, partial(SerialEnv, 2, make_chance), LIMITED, RewardSum), 3),
    "normalized": (partial(transformed, make_chance, SHIFTED), 3),
    "several, each normalized": (partial(SerialEnv, 2, partial(transformed, make_chance, SHIFTED)), 3),
    "stacked": (partial(transformed, make_chance, STACKED), 6),
    "with skipped frames": (partial(transformed, make_chance, partial(FrameSkipTransform, 2)), 3),
    "grids": (partial(SerialEnv, 2, partial(make_chance, shape=GRID)), 10),
    "with statistics": (partial(transformed, make_chance, STATISTICS), 3),
}


def linear_policy(inputs: int = 3) -> TensorDictModule:
    """Return a policy of one layer and two actions."""
    torch.manual_seed(7)
    return TensorDictModule(nn.Linear(inputs, 2), ["observation"], ["action"])


def layered_policy() -> TensorDictModule:
    """Return a policy of two layers and two actions."""
    torch.manual_seed(3)
    return TensorDictModule(MLP(in_features=3, out_features=2, num_cells=[8]), ["observation"], ["action"])


def bounded_policy(key: str = "observation", inputs: int = 3, *, draws: bool) -> Any:
    """Return a policy whose two actions are between -1 and 1, computed or drawn."""
    torch.manual_seed(7)
    if not draws:
        return TensorDictModule(nn.Sequential(nn.Linear(inputs, 2), nn.Tanh()), [key], ["action"])
    layers = nn.Sequential(nn.Linear(inputs, 4), NormalParamExtractor())
    computing = TensorDictModule(layers, [key], ["loc", "scale"])
    return ProbabilisticActor(computing, ["loc", "scale"], distribution_class=TanhNormal, return_log_prob=True)
