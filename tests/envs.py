"""Define small deterministic environments and policies. A test requests misbehaviour by name."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tensordict import TensorDict, TensorDictBase
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.data import Binary, Composite, Unbounded
from torchrl.envs import EnvBase, StepCounter, TransformedEnv


class Counting(EnvBase):
    """Counts the steps of the episode in ``observation`` (float32 [3]), and is done after ``length`` steps.

    Args:
        length: steps of an episode.
        step_seconds: seconds that each step takes.
        misbehaves: the misbehaviour, see :func:`_misbehave`, or ``raise when built``; by default none.
        at: the step at which it misbehaves, counted over all episodes.
        once: a file. Only the environment that creates the file misbehaves, so later environments do not.
    """

    def __init__(
        self,
        length: int = 10,
        step_seconds: float = 0.0,
        misbehaves: str = "",
        at: int = 5,
        once: str | None = None,
    ) -> None:
        super().__init__(device="cpu", batch_size=torch.Size([]))
        self._length = length
        self._step_seconds = step_seconds
        self._misbehaves = misbehaves
        self._at = at
        self._once = once
        self._steps = 0
        self._count = 0
        self.observation_spec = Composite(observation=Unbounded(shape=(3,)))
        self.action_spec = Unbounded(shape=(2,))
        self.reward_spec = Unbounded(shape=(1,))
        self.done_spec = Binary(shape=(1,), dtype=torch.bool)
        if misbehaves == "raise when built" and _first(once):
            raise ValueError("no such game")

    def _reset(self, tensordict: TensorDictBase | None = None, **_: Any) -> TensorDictBase:
        self._count = 0
        return TensorDict({"observation": torch.zeros(3)}, batch_size=[])

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        self._steps += 1
        self._count += 1
        if self._step_seconds:
            time.sleep(self._step_seconds)
        if self._misbehaves and self._steps == self._at and _first(self._once):
            _misbehave(self._misbehaves)
        return TensorDict(
            {
                "observation": torch.full((3,), float(self._count)),
                "reward": tensordict["action"].sum(-1, keepdim=True),
                "done": torch.tensor([self._count >= self._length]),
            },
            batch_size=[],
        )

    def _set_seed(self, seed: int | None) -> None:
        pass


def _first(once: str | None) -> bool:
    if once is None:
        return True
    try:
        Path(once).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _misbehave(how: str) -> None:
    match how:
        case "raise":
            raise ValueError("the game is broken")
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "hang":
            time.sleep(10_000)
        case "exit":
            sys.exit(2)  # as argparse does
        case "run out of memory":
            raise MemoryError("no memory left for the game")
        case _:
            raise AssertionError(f"unknown misbehaviour: {how}")


def make_counting(**kwargs: Any) -> Counting:
    return Counting(**kwargs)


def make_counted_steps() -> TransformedEnv:
    """Return an environment with TorchRL's ``StepCounter``, which its collectors add for ``max_frames_per_traj``."""
    return TransformedEnv(Counting(), StepCounter())


def with_a_buffer() -> Counting:
    """Return an environment with a buffer.

    TorchRL's collectors leave the buffer out of their state, but require it when they load a state.
    """
    env = Counting()
    env.register_buffer("kept", torch.zeros(1))
    return env


class Marked(Counting):
    """Observes the pid of its process."""

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        return super()._step(tensordict).set("observation", torch.full((3,), float(os.getpid())))

    def _reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        return super()._reset(tensordict, **kwargs).set("observation", torch.full((3,), float(os.getpid())))


class Random(Counting):
    """Observes numbers that its own generator draws."""

    _generator = torch.Generator()

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        return super()._step(tensordict).set("observation", torch.rand(3, generator=self._generator))

    def _set_seed(self, seed: int | None) -> None:
        self._generator.manual_seed(seed or 0)


class Starting(Counting):
    """Has episodes of three steps, and draws the three numbers of the first observation with its own generator.

    They are whole numbers below ``states``, or any numbers from 0 to 1 if ``states`` is 0.
    """

    def __init__(self, seed: int = 0, states: int = 0) -> None:
        super().__init__(length=3)
        self._states = states
        self._drawn = torch.Generator().manual_seed(seed)

    def _reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        start = torch.rand(3, generator=self._drawn)
        if self._states:
            start = (start * self._states).floor()
        return super()._reset(tensordict, **kwargs).set("observation", start)

    def _set_seed(self, seed: int | None) -> None:
        self._drawn.manual_seed(seed or 0)


class Drawn(Counting):
    """Draws the length of each episode from ``lengths``, with its own generator."""

    def __init__(self, lengths: tuple[int, ...] = (5, 95)) -> None:
        super().__init__()
        self._lengths = lengths
        self._generator = torch.Generator().manual_seed(0)

    def _reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        self._length = self._lengths[int(torch.randint(len(self._lengths), (), generator=self._generator))]
        return super()._reset(tensordict, **kwargs)

    def _set_seed(self, seed: int | None) -> None:
        self._generator.manual_seed(seed or 0)


class Drawing(Counting):
    """Observes numbers that the global generators of numpy, ``random`` and torch draw."""

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        drawn = torch.tensor([np.random.rand(), random.random(), torch.rand(()).item()])
        return super()._step(tensordict).set("observation", drawn)


class Modelled(Counting):
    """Observes the weight of a model of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.world = nn.Linear(1, 1)

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        return super()._step(tensordict).set("observation", self.world.weight.detach().view(1).expand(3).clone())


def make_modelled() -> Counting:
    return Modelled()


def make_counting_with_pid() -> Counting:
    return Marked()


def make_random() -> Counting:
    return Random()


def make_starting(**kwargs: Any) -> Counting:
    return Starting(**kwargs)


class Numbered(Counting):
    """Observes its number."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        return super()._step(tensordict).set("observation", torch.full((3,), float(self._number)))


def make_numbered(collector_index: int) -> Counting:
    return Numbered(collector_index)


def make_drawn(lengths: tuple[int, ...] = (5, 95)) -> Counting:
    return Drawn(lengths)


def make_drawing() -> Counting:
    return Drawing()


class Constant(nn.Module):
    """Returns actions (float32 [..., 2]) whose two parts are its only parameter."""

    def __init__(self, value: float = 0.0) -> None:
        super().__init__()
        self.value = nn.Parameter(torch.tensor(value))

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        return self.value.expand(*observation.shape[:-1], 2).clone()


class TwoParts(nn.Module):
    """Returns the sum of the actions of two modules with one parameter each."""

    def __init__(self, acting: float, other: float) -> None:
        super().__init__()
        self.acting = Constant(acting)
        self.other = Constant(other)

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        return self.acting(observation) + self.other(observation)


class Tied(nn.Module):
    """Two layers that share one weight, and a counter."""

    count: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(1, 1, bias=False)
        self.second = nn.Linear(1, 1, bias=False)
        self.second.weight = self.first.weight
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        one = torch.ones(*observation.shape[:-1], 1)
        return (self.first(one) + self.second(one) + self.count).expand(*observation.shape[:-1], 2).clone()


class Wide(nn.Module):
    """A network with one hidden layer of ``width`` units."""

    def __init__(self, width: int = 4096) -> None:
        super().__init__()
        self.layer = nn.Linear(3, width)
        self.last = nn.Linear(width, 2)

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        return self.last(torch.relu(self.layer(observation)))


class Noise(nn.Module):
    """Returns normal noise as actions."""

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        return torch.randn(*observation.shape[:-1], 2)


class NoisyConstant(Constant):
    """Adds normal noise to the actions of :class:`Constant`."""

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        return super().forward(observation) + torch.randn(*observation.shape[:-1], 2)


class Broken(nn.Module):
    """Raises at each call."""

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        raise ZeroDivisionError("the policy is broken")


def make_policy(value: float = 0.0) -> TensorDictModule:
    """Return a policy with the action ``[value, value]``.

    Each reward of :class:`Counting` is twice the value, so a reward shows which weights the collector used.
    """
    return TensorDictModule(Constant(value), in_keys=["observation"], out_keys=["action"])


def make_two_part_policy(acting: float, other: float) -> TensorDictModule:
    return TensorDictModule(TwoParts(acting, other), in_keys=["observation"], out_keys=["action"])


def make_tied_policy() -> TensorDictModule:
    return TensorDictModule(Tied(), in_keys=["observation"], out_keys=["action"])


def make_wide_policy() -> TensorDictModule:
    return TensorDictModule(Wide(), in_keys=["observation"], out_keys=["action"])


def make_large_policy() -> TensorDictModule:
    """Return a policy of 24 MB."""
    return TensorDictModule(Wide(1_000_000), in_keys=["observation"], out_keys=["action"])


def make_noisy_policy() -> TensorDictModule:
    return TensorDictModule(Noise(), in_keys=["observation"], out_keys=["action"])


def make_broken_policy() -> TensorDictModule:
    return TensorDictModule(Broken(), in_keys=["observation"], out_keys=["action"])
