"""Move specs of modules, and tensors in distribution settings, to a device. ``Module.to`` does not move them."""

from __future__ import annotations

from typing import Any

import torch
from tensordict.nn import ProbabilisticTensorDictModule
from torch import Tensor, nn
from torchrl.data import TensorSpec


def move_settings(policy: nn.Module, device: torch.device | str) -> None:
    """Move two kinds of objects in ``policy`` to ``device``: specs of modules, and tensors in distribution settings."""
    for module in policy.modules():
        for name, value in list(vars(module).items()):
            if isinstance(value, TensorSpec):
                vars(module)[name] = value.to(device)
        if isinstance(module, ProbabilisticTensorDictModule):
            module.distribution_kwargs = _moved(module.distribution_kwargs, device)


def _moved(keywords: dict[str, Any], device: torch.device | str) -> dict[str, Any]:
    return {name: value.to(device) if isinstance(value, Tensor) else value for name, value in keywords.items()}
