"""A policy that learns one number, for tests of learner shards."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ray
import torch
from ray.exceptions import ActorDiedError, ActorUnavailableError
from tensordict import TensorDict, TensorDictBase
from tests.wait import eventually
from torch import nn

from collectorfleet.learners.replay import PolicyReplay

if TYPE_CHECKING:
    from collectorfleet import LearnerShards


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


class Meeting(Mean):
    """It is built once another one has begun to be built: each makes a file, and waits for that of the other."""

    def __init__(self, own: str, other: str) -> None:
        Path(own).touch()
        eventually(Path(other).exists, within=60)
        super().__init__()


class Stepping(Mean):
    """A learner of :class:`tests.envs.Constant`: its value grows by 1 with all that it learns."""

    def learn(self, frames: TensorDictBase) -> float:
        self.value += frames["observation"].isfinite().all()
        return self.value.item()

    def weights(self) -> dict[str, torch.Tensor]:
        return {"value": self.value.squeeze()}


class DiesOnce(PolicyReplay):
    """A replay actor that is lost when it is sampled, as long as there is the file ``fatal``."""

    def __init__(self, fatal: str) -> None:
        super().__init__()
        self._fatal = Path(fatal)

    def sample(self, policy_id: str, batch_size: int) -> TensorDictBase:
        # Of several that are sampled together, it is the one that takes the file away.
        with contextlib.suppress(FileNotFoundError):
            self._fatal.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().sample(policy_id, batch_size)


class FailsOnce(PolicyReplay):
    """A replay actor that is lost, or raises, in the call that ``fails`` names, once there is the file of that name."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self._folder = Path(folder)

    def forget(self, policy_id: str) -> None:
        self._fails("forget")
        super().forget(policy_id)

    def state_dict(self) -> dict[str, list[TensorDictBase]]:
        self._fails("write")
        return super().state_dict()

    def _fails(self, call: str) -> None:
        # Of several actors, it is the one that takes the file away.
        with contextlib.suppress(FileNotFoundError):
            (self._folder / f"{call} raises").unlink()
            raise ValueError(f"cannot {call}")
        with contextlib.suppress(FileNotFoundError):
            (self._folder / f"{call} dies").unlink()
            os.kill(os.getpid(), signal.SIGKILL)


class NotWritten(Mean):
    """A policy that cannot be written once there is the file ``fails``. Of several policies, one removes the file."""

    def __init__(self, fails: str) -> None:
        super().__init__()
        self._fails = Path(fails)

    def state_dict(self) -> dict[str, Any]:
        with contextlib.suppress(FileNotFoundError):
            self._fails.unlink()
            raise ValueError("cannot write")
        return super().state_dict()


class TooLarge(Mean):
    """It dies where it is to say what it is, as one that runs out of memory does."""

    def state_dict(self) -> dict[str, Any]:
        os.kill(os.getpid(), signal.SIGKILL)
        return super().state_dict()


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


def make_both() -> nn.Module:
    """What acts for the policies of :func:`even_and_odd`."""
    return nn.ModuleDict({"acting": nn.Linear(1, 1), "other": nn.Linear(1, 1)})


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


def kill(actor: Any) -> None:
    # An actor that was lost before may not be back yet.
    os.kill(again(lambda: actor.__ray_call__.remote(lambda _: os.getpid())), signal.SIGKILL)


def again(ask: Callable[[], Any]) -> Any:
    """Return the answer of an actor that is being built again."""
    found = eventually(
        lambda: [ray.get(ask(), timeout=60)], within=60, tolerate=(ActorUnavailableError, ActorDiedError)
    )
    return found[0]


def add_with_frames(shards: LearnerShards, *policy_ids: str) -> None:
    """Add policies, each with 8 frames."""
    for policy_id in policy_ids:
        shards.add_policy(policy_id)
        replay, _ = shards.get_replay_and_policy_actors(policy_id)
        ray.get(replay.extend.remote(policy_id, frames(1.0, 8)))
