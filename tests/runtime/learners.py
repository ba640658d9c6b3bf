"""A policy that learns one number, for tests of learner shards."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import ray
import torch
from tensordict import TensorDict, TensorDictBase
from tests.wait import eventually


class Mean:
    """Its value moves towards the mean of what it sees, by ``rate``. It has a ``__len__``, as many classes have."""

    def __init__(
        self, rate: float = 1.0, net: dict[str, int] | None = None, no_such_game: bool = False, gate: str = ""
    ) -> None:
        if gate:
            eventually(Path(gate).exists, within=60)
        if no_such_game:
            raise ValueError("no such game")
        self.given = {"rate": rate, "net": net}
        self.rate = rate
        self.value = torch.zeros(1)

    def __len__(self) -> int:
        return len(self.value)

    def learn(self, frames: TensorDictBase) -> float:
        self.value += self.rate * (frames["x"].mean() - self.value)
        return self.value.item()

    def seen(self) -> float:
        return self.value.item()

    def configuration(self) -> dict[str, Any]:
        return self.given

    def place(self) -> tuple[int, str]:
        """The process, and Ray's id of its node."""
        return os.getpid(), ray.get_runtime_context().get_node_id()

    def waits_for(self, gate: str, then: str) -> None:
        eventually(Path(gate).exists, within=60)
        Path(then).touch()

    def state_dict(self) -> dict[str, Any]:
        return {"value": self.value}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.value = state["value"]


class Stepping(Mean):
    """A learner of :class:`tests.envs.Constant`: its value grows by 1 with all that it learns."""

    def learn(self, frames: TensorDictBase) -> float:
        self.value += frames["observation"].isfinite().all()
        return self.value.item()

    def weights(self) -> dict[str, torch.Tensor]:
        return {"value": self.value.squeeze()}


class Forgetful:
    """A policy without a way back."""

    def seen(self) -> int:
        return 1


class Heard:
    """A replay actor that keeps no frames, and notes who left."""

    def __init__(self, prefix: str) -> None:
        self._prefix, self._said = prefix, list[str]()

    def forget(self, policy_id: str) -> None:
        self._said.append(self._prefix + policy_id)

    def said(self) -> list[str]:
        return self._said


def frames(value: float, number: int = 8) -> TensorDict:
    return TensorDict({"x": torch.full((number, 1), value)}, [number])


def even_and_odd(rollout: TensorDictBase) -> dict[str, TensorDictBase]:
    """What was seen after an even number of steps is ``acting``'s, the rest ``other``'s."""
    even = rollout["observation"][:, 0] % 2 == 0
    return {"acting": rollout[even], "other": rollout[~even]}


def to_a_stranger(rollout: TensorDictBase) -> dict[str, TensorDictBase]:
    return {"stranger": rollout}


def pid_of(actor: Any) -> int:
    found: int = ray.get(actor.__ray_call__.remote(lambda _: os.getpid()), timeout=60)
    return found
