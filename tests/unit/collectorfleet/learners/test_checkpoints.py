"""Checkpoints of learner shards whose actors fail or restart at a chosen moment, without Ray."""

from __future__ import annotations

import asyncio
import errno
import inspect
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from tests.runtime.learners import frames

from collectorfleet import InfrastructureError, UserCodeError
from collectorfleet.learners import checkpoints as checkpoints_module
from collectorfleet.learners.calls import Deadline
from collectorfleet.learners.checkpoint_folder import NewFolder
from collectorfleet.learners.checkpoints import Checkpoints
from collectorfleet.learners.origin import Origin
from collectorfleet.learners.record import Earlier
from collectorfleet.learners.replay import PolicyReplay
from collectorfleet.learners.returning import returning
from collectorfleet.learners.roster import Place

MINUTE = timedelta(minutes=1)


class Asynchronous(PolicyReplay):
    """A replay actor whose ``forget`` is a coroutine."""

    async def forget(self, policy_id: str) -> None:
        super().forget(policy_id)


class Actor:
    """The handle of an actor, which runs each call at once."""

    def __init__(self, of: type, origin: Origin) -> None:
        self._build = lambda: returning(of)(origin, 0.0, {})
        self.restart()
        self.is_lost = False  # if True, the actor restarts before its next __ray_call__
        self.forget = SimpleNamespace(remote=self._forget)
        self.__ray_call__ = SimpleNamespace(remote=self._call)

    def restart(self) -> None:
        self.actor: Any = self._build()

    def size(self, policy_id: str) -> int:
        found: int = self.actor.size(policy_id)
        return found

    def _call(self, call: Callable[..., None], *args: Any) -> None:
        if self.is_lost:
            self.restart()
        call(self.actor, *args)

    def _forget(self, policy_id: str) -> None:
        found = self.actor.forget(policy_id)
        if inspect.iscoroutine(found):
            asyncio.run(found)


class Policy:
    """A policy that calls ``writes`` when a checkpoint writes the policy."""

    writes: Callable[[], object] = staticmethod(lambda: None)

    def state_dict(self) -> dict[str, Any]:
        type(self).writes()
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        pass


@pytest.fixture(autouse=True)
def _calls_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    def answers(asks: Mapping[str, Callable[[], Any]], _: Deadline) -> None:
        for who, ask in asks.items():
            try:
                ask()
            except ValueError as error:
                raise UserCodeError(who, str(error), "") from error

    monkeypatch.setattr(checkpoints_module, "answers", answers)


class Shard:
    """One shard with two places, whose policy ``stays`` was added."""

    def __init__(self, folder: Path, before: Path | None = None, replay_class: type = PolicyReplay) -> None:
        self.earlier = Earlier(before, (2,))
        self.checkpoints = Checkpoints(folder, NewFolder(folder), self.earlier, (2,))
        self.replay = Actor(replay_class, self.checkpoints.origin_of_replay(0))
        self.policies = {"stays": Actor(Policy, self.checkpoints.origin_of_policy("stays"))}
        self.earlier.settled("stays", Place(0, 0))

    def write(self) -> None:
        self.checkpoints.write([self.replay], self.policies, lambda _: Place(0, 0), MINUTE)

    def sizes(self) -> tuple[int, int]:
        return self.replay.size("stays"), self.replay.size("leaves")


@pytest.fixture
def before(tmp_path: Path) -> Path:
    """A checkpoint with 8 frames each of the policies ``stays`` and ``leaves``."""
    shard = Shard(tmp_path / "before")
    shard.policies["leaves"] = Actor(Policy, shard.checkpoints.origin_of_policy("leaves"))
    for policy_id in shard.policies:
        shard.replay.actor.extend(policy_id, frames(1.0, 8))
    shard.write()
    return tmp_path / "before"


@pytest.mark.parametrize("replay_class", [PolicyReplay, Asynchronous])
@pytest.mark.parametrize("restarts", ["before it is written", "after it is written"])
def test_a_replay_actor_that_is_restarted_during_a_checkpoint_drops_the_same_frames(
    tmp_path: Path, before: Path, monkeypatch: pytest.MonkeyPatch, replay_class: type, restarts: str
) -> None:
    shard = Shard(tmp_path / "own", before, replay_class)
    assert shard.sizes() == (8, 8)
    if restarts == "before it is written":
        shard.replay.is_lost = True
    else:
        monkeypatch.setattr(Policy, "writes", shard.replay.restart)
    shard.write()
    assert shard.sizes() == (8, 0)
    shard.replay.restart()
    assert shard.sizes() == (8, 0)


def test_after_a_checkpoint_that_fails_no_policy_resumes_without_the_frames_that_were_dropped(
    tmp_path: Path, before: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shard = Shard(tmp_path / "own", before)
    with monkeypatch.context() as failing:
        failing.setattr(Policy, "writes", Mock(side_effect=ValueError("cannot write")))
        with pytest.raises(UserCodeError, match="cannot write"):
            shard.write()
    assert shard.sizes() == (8, 0)
    assert shard.checkpoints.origin_of_policy("leaves").load() is None
    assert shard.checkpoints.has_frames_to_drop("leaves", 0)
    # The next checkpoint tries again.
    shard.replay.restart()
    shard.write()
    assert shard.sizes() == (8, 0)
    assert not shard.checkpoints.has_frames_to_drop("leaves", 0)


@pytest.mark.parametrize("is_first", [True, False], ids=["the first", "a later one"])
def test_a_checkpoint_after_one_that_failed_keeps_the_frames_of_a_policy_that_was_added_again(
    tmp_path: Path, before: Path, monkeypatch: pytest.MonkeyPatch, is_first: bool
) -> None:
    shard = Shard(tmp_path / "own", before)
    if not is_first:
        shard.write()
    with monkeypatch.context() as failing:
        failing.setattr(Policy, "writes", Mock(side_effect=ValueError("cannot write")))
        with pytest.raises(UserCodeError, match="cannot write"):
            shard.write()
    shard.checkpoints.remove("stays", 0)
    shard.checkpoints.drop("stays", 0, shard.replay, Deadline(MINUTE))
    shard.replay.restart()
    assert shard.sizes() == (0, 0)
    shard.replay.actor.extend("stays", frames(2.0, 2))
    shard.write()
    shard.replay.restart()
    assert shard.sizes() == (2, 0)


@pytest.mark.parametrize("is_dropped", [True, False])
def test_a_removal_on_a_full_volume_raises_the_error_of_the_volume(
    tmp_path: Path, before: Path, monkeypatch: pytest.MonkeyPatch, is_dropped: bool
) -> None:
    shard = Shard(tmp_path / "own", before)
    shard.checkpoints.remove("stays", 0)
    full = OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr("collectorfleet.learners.dropped.write_json", Mock(side_effect=full))
    if not is_dropped:
        dead = InfrastructureError("replay actor of shard 0: it is dead")
        monkeypatch.setattr(checkpoints_module, "answers", Mock(side_effect=dead))
    with pytest.raises(OSError, match="No space left on device"):
        shard.checkpoints.drop("stays", 0, shard.replay, Deadline(MINUTE))
    assert shard.sizes() == (0 if is_dropped else 8, 8)
    assert shard.checkpoints.has_frames_to_drop("stays", 0)
