"""Read and load the statistics that a transform keeps for one key. All kinds have the interface :class:`Kept`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torchrl.envs import ObservationNorm, RewardScaling, Transform, VecNorm, VecNormV2

from collectorfleet.normalization import Array, RunningStatistics
from collectorfleet.torchrl_private.transforms import (
    VecNormV2State,
    set_update_of_vec_norm,
    start_vec_norm,
    start_vec_norm_v2,
    sums_of_vec_norm,
    update_of_vec_norm,
)


class Kept(Protocol):
    """The statistics that a transform keeps for one key.

    ``is_updated_by_steps`` is True if each step updates the statistics. Statistics that share memory have the same
    ``identity``.
    """

    is_updated_by_steps: bool

    @property
    def identity(self) -> int: ...

    def read(self) -> RunningStatistics: ...

    def load(self, running: RunningStatistics) -> dict[str, Array]:
        """Load the statistics in ``running``, and return the loaded sums.

        If the loaded sums equal the sums in ``running``, the result has the arrays of ``running`` themselves. Otherwise
        the result has new arrays.
        """


class OfVecNormV2:
    """Statistics of VecNormV2: means with exponential decay.

    If the decay is 1, the statistics are means over all steps. In this case, :meth:`read` returns sums: the mean times
    the number of updates.
    """

    def __init__(self, transform: Any, key: Any) -> None:
        self._transform = transform
        self._state = VecNormV2State(transform, key)
        self.is_updated_by_steps = not transform.frozen

    @property
    def identity(self) -> int:
        return int(self._state.mean.data_ptr())

    def read(self) -> RunningStatistics:
        updates = int(self._state.updates)
        weight = updates if self._averages else 1
        sums = {name: weight * _numbers(tensor) for name, tensor in self._tensors().items()}
        return RunningStatistics(float(self._transform.decay), updates, sums)

    def load(self, running: RunningStatistics) -> dict[str, Array]:
        self._state.updates.fill_(running.updates)
        weight = running.updates if self._averages and running.updates else 1
        return {
            name: _written(tensor, running.sums[name] / weight, running.sums[name])
            for name, tensor in self._tensors().items()
        }

    @property
    def _averages(self) -> bool:
        return bool(self._transform.decay == 1.0)

    def _tensors(self) -> dict[str, Tensor]:
        return {"loc": self._state.mean, "var": self._state.variance}


class OfVecNorm:
    """Statistics of VecNorm: the sums and the count of the values, all with exponential decay.

    Because the count decays as well, a wrapper of the update method counts the updates.
    """

    _NAMES = ("sum", "ssq", "count")

    def __init__(self, transform: Any, key: Any) -> None:
        self._transform, self._key = transform, key
        self.is_updated_by_steps = not transform.frozen
        update = update_of_vec_norm(transform)
        if not isinstance(update, _Counted):
            update = _Counted(update)
            set_update_of_vec_norm(transform, update)
        self._counts = update.counts
        sums = sums_of_vec_norm(transform)
        if sums is None or self._of("sum") not in sums.keys(include_nested=True):
            start_vec_norm(transform, transform.parent.fake_tensordict().get("next"), key)

    @property
    def identity(self) -> int:
        return int(self._sum("count").data_ptr())

    def read(self) -> RunningStatistics:
        sums = {name: _numbers(self._sum(name)) for name in self._NAMES}
        return RunningStatistics(float(self._transform.decay), self._counts.get(self._key, 0), sums)

    def load(self, running: RunningStatistics) -> dict[str, Array]:
        self._counts[self._key] = running.updates
        return {name: _written(self._sum(name), running.sums[name], running.sums[name]) for name in self._NAMES}

    def _sum(self, name: str) -> Tensor:
        sums = sums_of_vec_norm(self._transform)
        tensor: Tensor | None = None if sums is None else sums.get(self._of(name))
        if tensor is None:
            raise RuntimeError(f"VecNorm has no {name} of {_name(self._key)}")
        return tensor

    def _of(self, name: str) -> Any:
        key = self._key
        return f"{key}_{name}" if isinstance(key, str) else (*key[:-1], f"{key[-1]}_{name}")


class _Counted:
    """A wrapper of VecNorm's update method that counts the calls for each key."""

    def __init__(self, update: Any) -> None:
        self._update = update
        self.counts: dict[Any, int] = {}

    def __call__(self, key: Any, value: Tensor, **keywords: Any) -> Tensor:
        self.counts[key] = self.counts.get(key, 0) + 1
        updated: Tensor = self._update(key, value, **keywords)
        return updated


class OfConstants:
    """Constants of a transform. Steps do not change the constants."""

    is_updated_by_steps = False

    def __init__(self, transform: Any, names: Sequence[str]) -> None:
        self._transform, self._names = transform, names

    @property
    def identity(self) -> int:
        return int(getattr(self._transform, self._names[0]).data_ptr())

    @property
    def _tensors(self) -> dict[str, Tensor]:
        # The tensors are read at each call, because a transform has new tensors after it is moved to another device.
        return {name: getattr(self._transform, name) for name in self._names}

    def read(self) -> RunningStatistics:
        return RunningStatistics(1.0, 0, {name: _numbers(tensor) for name, tensor in self._tensors.items()})

    def load(self, running: RunningStatistics) -> dict[str, Array]:
        found = running.sums
        return {name: _written(tensor, found[name], found[name]) for name, tensor in self._tensors.items()}


class OfUsers:
    """Statistics of a user's transform.

    The transform has methods that return and load the statistics, see ``docs/normalization.md``.
    """

    def __init__(self, transform: Any) -> None:
        self._transform = transform
        self.is_updated_by_steps = not getattr(transform, "frozen", False)

    @property
    def identity(self) -> int:
        return id(self._transform)

    def read(self) -> RunningStatistics:
        updates, sums = self._transform.running_statistics()
        found = {name: _numbers(tensor) for name, tensor in sums.items()}
        return RunningStatistics(float(getattr(self._transform, "decay", 1.0)), int(updates), found)

    def load(self, running: RunningStatistics) -> dict[str, Array]:
        given = {name: torch.from_numpy(np.array(value)) for name, value in running.sums.items()}
        self._transform.load_running_statistics(running.updates, given)
        there = self._transform.running_statistics()[1]
        return {name: _proof(there[name], given[name], value) for name, value in running.sums.items()}


def kept_by(transform: Transform) -> dict[str, Kept]:
    """Return the statistics of a transform by key.

    The result is empty if the transform has no statistics, or if the kind of the transform is unknown.
    """
    match transform:
        case VecNormV2(stateful=True):
            start_vec_norm_v2(transform, transform.parent.fake_tensordict().get("next"))
            return {_name(key): OfVecNormV2(transform, key) for key in transform.in_keys}
        case VecNorm():
            # TorchRL allows ``in_keys`` that the environment does not have. Such keys have no statistics.
            there = transform.parent.fake_tensordict().get("next").keys(include_nested=True)
            return {_name(key): OfVecNorm(transform, key) for key in transform.in_keys if key in there}
        case ObservationNorm(initialized=True) | RewardScaling():
            return {_name(transform.in_keys): OfConstants(transform, ["loc", "scale"])}
        case _ if hasattr(transform, "running_statistics") and hasattr(transform, "load_running_statistics"):
            return {_name(transform.in_keys): OfUsers(transform)}
    return {}


def _name(key: Any) -> str:
    """Return the name of one key (possibly a nested key) or of a list of keys."""
    if isinstance(key, list):
        return ",".join(map(_name, key))
    return key if isinstance(key, str) else "/".join(key)


def _numbers(tensor: Tensor) -> Array:
    found: Array = tensor.detach().to("cpu", torch.float64, copy=True).numpy()
    return found


def _written(tensor: Tensor, value: Array, sent: Array) -> Array:
    """Copy ``value`` into ``tensor``. ``sent`` is the array that ``value`` was computed from.

    If the copy is exact, return ``sent``. Otherwise return the values of ``tensor``.
    """
    expected = torch.from_numpy(np.asarray(value)).to(tensor.dtype)
    with torch.no_grad():
        tensor.copy_(expected)
    return _proof(tensor, expected, sent)


def _proof(tensor: Tensor, expected: Tensor, sent: Array) -> Array:
    there = tensor.detach().cpu()
    return sent if torch.equal(there, expected.to(there.dtype)) else _numbers(there)
