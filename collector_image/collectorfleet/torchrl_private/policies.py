"""Private names of the modules that make up policies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from tensordict.nn import (
    ProbabilisticTensorDictModule,
    ProbabilisticTensorDictSequential,
    TensorDictModule,
    TensorDictSequential,
)
from torch import Tensor, nn
from torchrl.envs.utils import _make_compatible_policy as make_compatible_policy
from torchrl.modules import MLP

__all__ = ["make_compatible_policy"]  # Makes evaluators call a policy as TorchRL's collectors do.


def selects_entries(policy: nn.Module) -> bool:
    """Return whether ``select_out_keys`` was called. The fast loop does not select keys."""
    return bool(policy._select_before_return)


def draws(policy: ProbabilisticTensorDictSequential) -> bool:
    """Return whether the sequence draws an action. A sequence that returns only a distribution has no action."""
    return bool(policy._requires_sample)


def modules_of(policy: TensorDictSequential) -> Iterable[Any]:
    """Return the modules in the order in which the sequence calls them. A sequence stores them as a list or a dict."""
    modules: Iterable[Any] = policy._module_iter()
    return modules


def takes_by_name(module: TensorDictModule) -> bool:
    """Return whether a module gets its inputs as keyword arguments. The fast loop passes inputs by position."""
    return bool(module._kwargs is not None)


def call_module(module: TensorDictModule, given: Sequence[Tensor]) -> Any:
    """Call the inner module with the outer module's ``method`` and ``method_kwargs``, without a TensorDict."""
    return module._call_module(given)


def generator_key(module: ProbabilisticTensorDictModule) -> Any:
    """Return the key under which the data has the module's generator. Return None if the data has no generator."""
    return module._generator_key


def generator_of(module: ProbabilisticTensorDictModule) -> torch.Generator | None:
    """Return the generator with which a module draws. None means torch's default generator."""
    generator: torch.Generator | None = module._generator
    return generator


def draw(module: ProbabilisticTensorDictModule, distribution: Any, **options: Any) -> Tensor:
    """Draw an action as the module does for the exploration type in ``options``, without a TensorDict."""
    drawn: Tensor = module._dist_sample(distribution, **options)
    return drawn


def reshapes_output(module: MLP) -> bool:
    """Return whether an MLP reshapes the output of its last layer. Calling only the layers would skip the reshape."""
    return bool(module._reshape_out)
