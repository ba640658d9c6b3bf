"""Define environments that are batches of tensors, on any device."""

from __future__ import annotations

from typing import Any

import torch
from tensordict import TensorDict, TensorDictBase
from torch import Tensor
from torchrl.data import Binary, Bounded, Composite, Unbounded
from torchrl.envs import EnvBase

_MULTIPLIER, _INCREMENT = 1103515245, 12345


class Walks(EnvBase):
    """Random walks of ``count`` points. A walk ends by chance, or when it leaves the unit interval.

    Each walk draws from its own stream of random numbers, at each step and at each reset. So its observations do not
    depend on the resets of other walks. ``ends`` are the entries with which a step reports the end of walks.
    """

    def __init__(self, count: int, ends: tuple[str, ...] = ("done", "terminated", "truncated"), **options: Any) -> None:
        self._given = ends
        device = torch.device(options.pop("device", "cpu"))
        super().__init__(device=device, batch_size=torch.Size([count]), **options)
        shape = self.batch_size
        # Specs are made on the CPU and then moved, because the pretended device cannot make tensors from numbers.
        self.observation_spec = Composite(
            observation=Unbounded((*shape, 3)),
            calls=Unbounded((*shape, 1), dtype=torch.int64),
            height=Unbounded((*shape, 1), dtype=torch.float64),
            shape=shape,
        ).to(device)
        self.action_spec = Bounded(-1, 1, (*shape, 2)).to(device)
        self.reward_spec = Unbounded((*shape, 1)).to(device)
        known = ("done", "terminated", "truncated") if "truncated" in ends else ("done", "terminated")
        over = {key: Binary(shape=(*shape, 1), dtype=torch.bool) for key in known}
        self.full_done_spec = Composite(over, shape=shape).to(device)
        self._stream = torch.arange(count).to(device)
        self._place = torch.zeros(count, device=device)
        self._calls = torch.zeros(count, 1, dtype=torch.int64, device=device)

    def _set_seed(self, seed: int | None) -> None:
        self._stream.copy_(torch.arange(len(self._stream)) + 7919 * (seed or 0))

    def _draw(self, which: Tensor) -> Tensor:
        """Return a number from 0 to 1 for each walk, float32 [count]. Advance the streams of the walks in ``which``."""
        following = (self._stream * _MULTIPLIER + _INCREMENT) % 2**31
        self._stream.copy_(torch.where(which, following, self._stream))
        return following.float() / 2**31

    def _reset(self, tensordict: TensorDictBase | None = None, **_: Any) -> TensorDictBase:
        mask = None if tensordict is None else tensordict.get("_reset", None)
        which = torch.ones_like(self._place, dtype=torch.bool) if mask is None else mask.view(-1)
        self._place.copy_(torch.where(which, self._draw(which), self._place))
        self._calls.copy_(torch.where(which.view(-1, 1), 0, self._calls))
        return self._entries(self._observed())

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        everyone = torch.ones_like(self._place, dtype=torch.bool)
        action = tensordict["action"]
        self._place.add_(0.2 * action[:, 0] + 0.2 * self._draw(everyone) - 0.1)
        self._calls.add_(1)
        terminated = (self._place < 0) | (self._place > 1)
        truncated = self._draw(everyone) < 0.1
        return self._entries(self._observed() | self._reached(action, terminated, truncated))

    def _reached(self, action: Tensor, terminated: Tensor, truncated: Tensor) -> dict[str, Tensor]:
        over = terminated | truncated
        if "truncated" not in self._given:
            terminated = over
        ends = {"done": over, "terminated": terminated, "truncated": truncated}
        found = {"reward": (action.sum(-1) + self._place).view(-1, 1)}
        return found | {key: ends[key].view(-1, 1) for key in self._given}

    def _observed(self) -> dict[str, Tensor]:
        place = self._place
        seen = torch.stack([place, place.square(), place.sin()], -1)
        return {"observation": seen, "calls": self._calls.clone(), "height": place.double().cos().view(-1, 1)}

    def _entries(self, entries: dict[str, Tensor]) -> TensorDictBase:
        return TensorDict(entries, batch_size=self.batch_size, device=self.device)


class MaskedWalks(Walks):
    """Declares that it resets the walks in a mask, and that CUDA graphs may record its steps."""

    masked_reset = True
    capturable = True


class EagerWalks(Walks):
    """Declares that it resets the walks in a mask."""

    masked_reset = True


class FlatWalks(MaskedWalks):
    """Returns rewards and ends without their last dimension, with the shape [count]."""

    def _reached(self, action: Tensor, terminated: Tensor, truncated: Tensor) -> dict[str, Tensor]:
        return {key: entry.view(-1) for key, entry in super()._reached(action, terminated, truncated).items()}


class DrawingWalks(Walks):
    """Draws from torch's global generator, which all walks share."""

    def _draw(self, which: Tensor) -> Tensor:
        return torch.rand(self.batch_size, device=self.device)


class SelfResettingWalks(Walks):
    """Resets each walk in the step in which it ends, and returns the new observation in that step."""

    def __init__(self, count: int, **options: Any) -> None:
        super().__init__(count, **options)
        self._torchrl_native_autoreset = True

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        found = super()._step(tensordict)
        again = self._reset(TensorDict({"_reset": found["done"]}, self.batch_size))
        return found.update(again)


class BufferedWalks(MaskedWalks):
    """Returns each observation in the same tensor."""

    def __init__(self, count: int, **options: Any) -> None:
        super().__init__(count, **options)
        self._shown = torch.zeros(count, 3, device=self.device)

    def _observed(self) -> dict[str, Tensor]:
        found = super()._observed()
        return found | {"observation": self._shown.copy_(found["observation"])}
