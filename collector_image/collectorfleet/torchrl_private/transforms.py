"""Private names of TorchRL's transforms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
from tensordict import TensorDictBase
from torch import Tensor
from torchrl.envs import CatFrames, Transform, VecNorm, VecNormV2
from torchrl.envs.transforms import VecGymEnvTransform

from collectorfleet.torchrl_private.environments import RESET_KEY


def transformed(transform: Transform, tensor: Tensor) -> Tensor:
    """Return one entry after the transform, for all environments at once, without a TensorDict."""
    made: Tensor = transform._apply_transform(tensor)
    return made


def has_hooks_after_step(transform: Transform) -> bool:
    """Return whether a transform changes entries between two steps. The fast loops do not call such a hook."""
    return bool(type(transform)._post_step_mdp_hooks is not Transform._post_step_mdp_hooks)


def frames_of(transform: CatFrames, key: str) -> Tensor:
    """Return the stacked frames that CatFrames keeps for ``key``. Both loops continue with these frames."""
    frames: Tensor = getattr(transform, f"_cat_buffers_{key}")
    return frames


def leave_reset(transform: VecGymEnvTransform, done: Tensor, begun: TensorDictBase | None) -> None:
    """Store the last results of a self-resetting vector environment.

    The transform uses these results if the next reset is a reset of some environments.
    """
    transform._memo.update(done=done, saved_next=begun)


@cache
def forget_steps_at_full_resets() -> None:
    """Make each ``VecGymEnvTransform`` of this process forget the last step when all environments are reset.

    TorchRL replaces the new observations with observations of the last step, if an episode ended in that step.
    """
    of_torchrl = VecGymEnvTransform._reset

    def reset(
        transform: VecGymEnvTransform, tensordict: TensorDictBase, tensordict_reset: TensorDictBase
    ) -> TensorDictBase:
        done = transform._memo.get("done")
        # Without this entry, TorchRL's wrapper has reset all environments.
        if done is not None and tensordict.get(RESET_KEY, None) is None:
            leave_reset(transform, torch.zeros_like(done), None)
        begun: TensorDictBase = of_torchrl(transform, tensordict, tensordict_reset)
        return begun

    # The class changes and not its objects, because the fast loop rejects environments with replaced methods.
    VecGymEnvTransform._reset = reset


class VecNormV2State:
    """The statistics of a stateful ``VecNormV2`` for one key. No public method reads or sets them for one key."""

    def __init__(self, transform: VecNormV2, key: Any) -> None:
        self._transform, self._key = transform, key

    @property
    def updates(self) -> Tensor:
        """The number of updates."""
        count: Tensor = self._transform._count.get(self._key)
        return count

    @property
    def mean(self) -> Tensor:
        mean: Tensor = self._transform._loc.get(self._key)
        return mean

    @property
    def variance(self) -> Tensor:
        """The variance as TorchRL stores it."""
        variance: Tensor = self._transform._var.get(self._key)
        return variance


def start_vec_norm_v2(transform: VecNormV2, example: TensorDictBase) -> None:
    """Create the statistics of a stateful ``VecNormV2`` before its first step, so that values can be loaded."""
    transform._maybe_stateful_init(example)


def keys_of_vec_norm_v2(transform: VecNormV2) -> Sequence[Any]:
    """Return the normalized keys. ``in_keys`` has additional keys if the statistics are in the data."""
    keys: Sequence[Any] = transform._in_keys_safe
    return keys


def sums_of_vec_norm(transform: VecNorm) -> TensorDictBase | None:
    """Return the sums of ``VecNorm``, or None before its first step."""
    sums: TensorDictBase | None = transform._td
    return sums


def start_vec_norm(transform: VecNorm, example: TensorDictBase, key: Any) -> None:
    """Create the sums of one key before the first step, so that values can be loaded."""
    transform._init(example, key)


def update_of_vec_norm(transform: VecNorm) -> Callable[..., Tensor]:
    """Return the method that ``VecNorm`` calls for each update of a key."""
    update: Callable[..., Tensor] = transform._update
    return update


def set_update_of_vec_norm(transform: VecNorm, update: Callable[..., Tensor]) -> None:
    """Make ``VecNorm`` call ``update``, to count updates. VecNorm's own counts decay, so they are lower."""
    transform._update = update
