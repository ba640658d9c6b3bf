"""Write the tensors of a rollout's steps, and the trajectory ids of these steps.

``memory`` maps the keys of a batch to tensors ``[environments, steps, ...]``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torchrl.collectors import Collector

from collectorfleet.actor.origin import Origin, calling
from collectorfleet.actor.rollout.memory import ENDS, TRAJECTORY, missing_entry, name_of_entry
from collectorfleet.actor.rollout.recording import Values
from collectorfleet.torchrl_private.collectors import new_trajectories


class Rows:
    """Writes the entries of each step into the memory. The memory has one row for each step."""

    def __init__(self, memory: Mapping[Any, Tensor], outputs: Sequence[Any]) -> None:
        self._views = {key: entry.unbind(1) for key, entry in memory.items() if key != TRAJECTORY}
        self._wanted = {key: (views[0].shape, views[0].dtype) for key, views in self._views.items()}
        self._output_keys = set(outputs)

    def write(self, step: int, entries: Values) -> None:
        """Copy ``entries`` into the rows of ``step``."""
        self._copy(step, entries)

    def write_next(self, step: int, entries: Values) -> None:
        """Copy ``entries``, the results of ``step``, into the rows of ``next``."""
        self._copy(step, {("next", key): tensor for key, tensor in entries.items()})

    def _copy(self, step: int, entries: Values) -> None:
        targets, sources = [], []
        for key, tensor in entries.items():
            views = self._views.get(key)
            if views is None:
                continue
            if (tensor.shape, tensor.dtype) != self._wanted[key]:
                self._require_fits(key, tensor)
            targets.append(views[step])
            sources.append(tensor)
        if targets:
            torch._foreach_copy_(targets, sources, non_blocking=True)

    def _require_fits(self, key: Any, tensor: Tensor) -> None:
        """Raise ValueError if writing the tensor would broadcast it or lose digits.

        The origin of the error is the policy if the policy writes the entry, otherwise the environment.
        """
        shape, dtype = self._wanted[key]
        if tensor.shape == shape and torch.can_cast(tensor.dtype, dtype):
            return
        with calling(Origin.POLICY if key in self._output_keys else Origin.ENVIRONMENT):
            raise ValueError(
                f"{name_of_entry(key)} is {tensor.dtype} {list(tensor.shape)} in a step, but its spec has {dtype} "
                f"{list(shape)}; return the spec's shape and dtype at each step"
            )


class SameKeys:
    """Checks that the environment returns the same entries in each step."""

    def __init__(self, memory: Iterable[Any]) -> None:
        self._memory = set(memory)
        self._keys: frozenset[Any] = frozenset()

    def check(self, entries: Values) -> None:
        """Raise ValueError if this step lacks an entry of the batch, but another step had this entry."""
        if entries.keys() == self._keys:
            return
        missing = ((self._keys or entries.keys()) ^ entries.keys()) & self._memory
        if missing:
            with calling(Origin.ENVIRONMENT):
                raise missing_entry(", ".join(sorted(map(name_of_entry, missing))), "in some steps")
        self._keys = frozenset(entries)


def ends_of(memory: Mapping[Any, Tensor], taken: int) -> Tensor:
    """Return bool ``[environments, taken]``, True if a trajectory ended with this step."""
    found = [memory["next", key][:, :taken].flatten(2).any(2) for key in ENDS if ("next", key) in memory]
    return torch.stack(found).any(0)


def require_begun(memory: Mapping[Any, Tensor], now: Values, taken: int, ended: Tensor) -> None:
    """Raise RuntimeError if an environment reports an ended episode directly after its reset."""
    for key in ENDS:
        rows = memory.get(key)
        if key not in now or rows is None:
            continue
        after = torch.cat([rows[:, 1:taken], now[key].unsqueeze(1)], 1).flatten(2).any(2)
        if bool((after & ended & memory["next", "done"][:, :taken].flatten(2).any(2)).any()):
            with calling(Origin.ENVIRONMENT):
                raise RuntimeError(
                    f"{key} is True right after the environment's reset; return False, or set "
                    "allow_done_after_reset of the environment"
                )


def ids_of(collector: Collector, ended: Tensor, before: Tensor) -> Tensor:
    """Return the trajectory ids after each step, ``[environments, taken]``."""
    now = before.to(ended.device)[:, None].expand(ended.shape)
    count = int(ended.sum())
    if not count:
        return now
    fresh = new_trajectories(collector, count, ended.device).to(now.dtype)
    # New ids are assigned in the order of the steps, as in TorchRL's loop.
    number = ended.t().reshape(-1).cumsum(0).view(ended.shape[1], -1).t() - 1
    steps = torch.arange(ended.shape[1], device=ended.device)
    last = torch.where(ended, steps, -1).cummax(1).values
    newest = fresh[number.gather(1, last.clamp(min=0)).clamp(min=0)]
    return torch.where(last >= 0, newest, now)
