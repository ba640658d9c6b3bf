"""Specs and settings of distributions move with their policy."""

from __future__ import annotations

import torch
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.data import Bounded
from torchrl.modules import NormalParamExtractor, ProbabilisticActor, TanhNormal

from collectorfleet.codec.settings import move_settings


def test_specs_and_tensors_of_distributions_move_and_other_settings_stay() -> None:
    computing = TensorDictModule(
        nn.Sequential(nn.Linear(3, 2), NormalParamExtractor()), ["observation"], ["loc", "scale"]
    )
    actor = ProbabilisticActor(
        computing,
        in_keys=["loc", "scale"],
        spec=Bounded(-1, 1, shape=(1,)),
        distribution_class=TanhNormal,
        distribution_kwargs={"low": torch.tensor([-1.0]), "high": torch.tensor([1.0]), "tanh_loc": True},
    )
    assert actor.spec["action"].device == torch.device("cpu")
    move_settings(actor, "meta")
    assert actor.spec["action"].device == torch.device("meta")
    settings = actor[-1].distribution_kwargs
    assert (settings["low"].device.type, settings["high"].device.type) == ("meta", "meta")
    assert settings["tanh_loc"] is True
