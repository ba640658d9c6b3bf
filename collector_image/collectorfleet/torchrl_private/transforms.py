"""Private names of TorchRL's transforms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensordict import TensorDictBase
from torch import Tensor
from torchrl.envs import CatFrames, Transform, VecNorm, VecNormV2
from torchrl.envs.transforms import VecGymEnvTransform


def transformed(transform: Transform, tensor: Tensor) -> Tensor:
    """Return one entry as the transform makes it, for all environments at once, without a TensorDict."""
    made: Tensor = transform._apply_transform(tensor)
    return made


def has_hooks_after_step(transform: Transform) -> bool:
    """Return whether a transform changes entries between two steps, where a loop of ours does not call it."""
    return bool(type(transform)._post_step_mdp_hooks is not Transform._post_step_mdp_hooks)


def frames_of(transform: CatFrames, key: str) -> Tensor:
    """Return the frames that CatFrames has stacked of ``key``: our loop goes on from them, and TorchRL's from ours."""
    frames: Tensor = getattr(transform, f"_cat_buffers_{key}")
    return frames


def leave_reset(transform: VecGymEnvTransform, done: Tensor, begun: TensorDictBase | None) -> None:
    """Tell what a vector environment that resets itself has shown: the transform takes it up at the next reset."""
    transform._memo.update(done=done, saved_next=begun)


class VecNormV2State:
    """What a stateful ``VecNormV2`` keeps of one key. No method gives or takes it for a key."""

    def __init__(self, transform: VecNormV2, key: Any) -> None:
        self._transform, self._key = transform, key

    @property
    def updates(self) -> Tensor:
        """How many updates there were."""
        count: Tensor = self._transform._count.get(self._key)
        return count

    @property
    def mean(self) -> Tensor:
        mean: Tensor = self._transform._loc.get(self._key)
        return mean

    @property
    def variance(self) -> Tensor:
        """The variance as TorchRL averages it."""
        variance: Tensor = self._transform._var.get(self._key)
        return variance


def start_vec_norm_v2(transform: VecNormV2, example: TensorDictBase) -> None:
    """Make the statistics of a stateful ``VecNormV2`` before its first step, so that they can be loaded."""
    transform._maybe_stateful_init(example)


def keys_of_vec_norm_v2(transform: VecNormV2) -> Sequence[Any]:
    """Return the keys that are normalized: ``in_keys`` has more where the statistics are in the data."""
    keys: Sequence[Any] = transform._in_keys_safe
    return keys


def sums_of_vec_norm(transform: VecNorm) -> TensorDictBase | None:
    """Return the sums that ``VecNorm`` keeps; None before its first step."""
    sums: TensorDictBase | None = transform._td
    return sums


def start_vec_norm(transform: VecNorm, example: TensorDictBase, key: Any) -> None:
    """Make the sums of one key before the first step, so that they can be loaded."""
    transform._init(example, key)


def update_of_vec_norm(transform: VecNorm) -> Callable[..., Tensor]:
    """Return what ``VecNorm`` calls for each update of a key."""
    update: Callable[..., Tensor] = transform._update
    return update


def set_update_of_vec_norm(transform: VecNorm, update: Callable[..., Tensor]) -> None:
    """Have ``VecNorm`` call ``update`` instead: its own counts fade, and give no number of updates."""
    transform._update = update
