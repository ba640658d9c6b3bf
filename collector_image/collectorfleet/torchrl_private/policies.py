"""Private names of the modules that policies are made of."""

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

__all__ = ["make_compatible_policy"]  # Has evaluators call a policy as TorchRL's collectors call it.


def selects_entries(policy: nn.Module) -> bool:
    """Return whether ``select_out_keys`` was called: a loop of ours does not select."""
    return bool(policy._select_before_return)


def draws(policy: ProbabilisticTensorDictSequential) -> bool:
    """Return whether the sequence draws an action: one that returns a distribution only has nothing to act with."""
    return bool(policy._requires_sample)


def modules_of(policy: TensorDictSequential) -> Iterable[Any]:
    """Return the modules in the order in which the sequence calls them, however it keeps them."""
    modules: Iterable[Any] = policy._module_iter()
    return modules


def takes_by_name(module: TensorDictModule) -> bool:
    """Return whether a module takes its inputs by name: a loop of ours gives them by position."""
    return bool(module._kwargs is not None)


def call_module(module: TensorDictModule, given: Sequence[Tensor]) -> Any:
    """Call the inner module as the outer one says, by ``method`` and ``method_kwargs``, without a TensorDict."""
    return module._call_module(given)


def generator_key(module: ProbabilisticTensorDictModule) -> Any:
    """Return the entry that a module takes its generator from; None if the generator is not in the data."""
    return module._generator_key


def generator_of(module: ProbabilisticTensorDictModule) -> torch.Generator | None:
    """Return the generator that a module draws with; None stands for torch's own."""
    generator: torch.Generator | None = module._generator
    return generator


def draw(module: ProbabilisticTensorDictModule, distribution: Any, **options: Any) -> Tensor:
    """Draw as the module does for each way of exploring, without a TensorDict."""
    drawn: Tensor = module._dist_sample(distribution, **options)
    return drawn


def reshapes_output(module: MLP) -> bool:
    """Return whether an MLP reshapes what its last layer returns: calling its layers in a row would not."""
    return bool(module._reshape_out)
