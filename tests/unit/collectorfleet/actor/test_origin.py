"""Whose code raised: the environment's, the policy's or a hook's, in each loop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from tensordict import NonTensorData, TensorDict, TensorDictBase
from tensordict.nn import TensorDictModule, TensorDictModuleBase
from tests import envs
from torch import nn
from torchrl.collectors import BaseCollector, MultiAsyncCollector, MultiSyncCollector
from torchrl.data import NonTensor, Unbounded
from torchrl.envs import EnvBase, GymWrapper, SerialEnv, Transform

from collectorfleet.actor.build import build
from collectorfleet.actor.config import CollectorConfig, RolloutLoop
from collectorfleet.actor.episodes import EpisodeCounter
from collectorfleet.actor.origin import Origin, mark, origin_of
from collectorfleet.actor.server import CollectorServer
from collectorfleet.messages import CollectorId, Raised, Request, Started

C0 = CollectorId("c0", 1)
AUTO, TORCHRL = RolloutLoop.AUTO, RolloutLoop.TORCHRL


class Broken(gymnasium.Env[np.ndarray, np.ndarray]):
    """Raises in its eighth step or its seventh reset, or returns another shape in its eighth step."""

    observation_space = gymnasium.spaces.Box(-1, 1, (3,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)

    def __init__(self, breaks: str) -> None:
        self._breaks = breaks
        self._steps = self._resets = 0

    def reset(self, **_: Any) -> tuple[np.ndarray, dict[str, Any]]:
        self._resets += 1
        if self._breaks == "reset" and self._resets > 6:
            raise ValueError("the game is broken")
        return np.zeros(3, np.float32), {}

    def step(self, _action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self._steps += 1
        if self._breaks == "step" and self._steps == 8:
            raise ValueError("the game is broken")
        seen = np.zeros(4 if self._breaks == "shape" and self._steps == 8 else 3, np.float32)
        return seen, 0.0, self._breaks == "reset", False, {}


def one(breaks: str) -> EnvBase:
    return GymWrapper(Broken(breaks))


def several(breaks: str) -> EnvBase:
    return SerialEnv(2, lambda: one(breaks))


def vector(breaks: str) -> EnvBase:
    return GymWrapper(SyncVectorEnv([lambda: Broken(breaks)] * 2, autoreset_mode=AutoresetMode.SAME_STEP))


def _build(server: CollectorServer) -> None:
    built = server.build(0, seed_environment=False)
    assert isinstance(built, Started), built


def told(create_env: Any, policy: Any, rollout: RolloutLoop, frames: int = 40) -> Raised:
    server = CollectorServer(C0, CollectorConfig(create_env, policy, frames, rollout=rollout))
    _build(server)
    said = server.run(Request(1, frames, 0))
    assert isinstance(said, Raised), said
    return said


@pytest.mark.parametrize("rollout", [AUTO, TORCHRL])
@pytest.mark.parametrize("breaks", ["step", "reset"])
@pytest.mark.parametrize("make", [one, several, vector])
def test_an_environment_that_raises_is_named_and_may_be_tried_again(
    make: Callable[[str], EnvBase], breaks: str, rollout: RolloutLoop
) -> None:
    said = told(lambda: make(breaks), envs.make_policy(), rollout)
    assert said.where.startswith("environment")
    assert (said.cause, said.by_environment) == ("ValueError: the game is broken", True)
    assert "in step" in said.traceback or "in reset" in said.traceback


class Whole(TensorDictModuleBase):
    """A policy that may read any entry, so the fleet's collector calls TorchRL's loop."""

    in_keys, out_keys = ("observation",), ("action",)

    def forward(self, observed: TensorDictBase) -> TensorDictBase:
        return observed.set("action", torch.zeros(2))


def test_an_environment_that_raises_is_named_if_torchrls_loop_steps_it() -> None:
    make = partial(envs.make_counting, misbehaves="raise", at=9)
    server = CollectorServer(C0, CollectorConfig(make, Whole(), 40))
    built = server.build(0, seed_environment=False)
    assert isinstance(built, Started)
    assert built.loop is not None
    assert built.loop.startswith("TorchRL: ")
    said = server.run(Request(1, 40, 0))
    assert isinstance(said, Raised)
    assert (said.where, said.by_environment) == ("environment make_counting", True)


@pytest.mark.parametrize("make", [one, several, vector])
def test_an_environment_that_returns_another_shape_than_it_says_is_named(make: Callable[[str], EnvBase]) -> None:
    said = told(lambda: make("shape"), envs.make_policy(), AUTO)
    assert said.where.startswith("environment")


class Growing(envs.Counting):
    """Says that it observes 3 numbers, and observes one more in its fifth step."""

    def __init__(self, says: int = 3) -> None:
        super().__init__()
        self.observation_spec["observation"] = Unbounded(shape=(says,))

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        found = super()._step(tensordict)
        return found.set("observation", torch.zeros(4 if self._steps == 5 else 3))


def test_observations_of_another_shape_than_the_specs_are_named_with_their_key_and_shapes() -> None:
    said = told(Growing, envs.make_policy(), AUTO)
    assert said.where == "environment Growing"
    assert said.cause == (
        "ValueError: observation has the shapes (3,) and (4,) in one rollout, but its spec has (3,); return the spec's "
        "shape at each step, with padding if necessary"
    )


def test_torchrls_loop_blames_the_frames_for_observations_of_another_shape() -> None:
    said = told(Growing, envs.make_policy(), TORCHRL)
    assert (said.where, said.by_environment) == ("frames", False)
    assert "[3] at entry 0 and [4] at entry 5" in said.cause


class Unshared(envs.Counting):
    """Has an entry that cannot be copied, from its fifth step on."""

    def __init__(self, at: int = 5) -> None:
        super().__init__()
        self._from = at
        self.observation_spec["lock"] = NonTensor(shape=())

    def _reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        return self._with(super()._reset(tensordict, **kwargs))

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        return self._with(super()._step(tensordict))

    def _with(self, found: TensorDictBase) -> TensorDictBase:
        return found.set("lock", NonTensorData(threading.Lock() if self._steps >= self._from else "none"))


@pytest.mark.parametrize("at", [0, 5], ids=["from the first reset", "from a step"])
def test_an_entry_that_cannot_be_copied_is_not_blamed_on_the_policy(at: int) -> None:
    server = CollectorServer(C0, CollectorConfig(partial(Unshared, at), envs.make_policy(), 20))
    said: Any = server.build(0, seed_environment=False)
    said = said if isinstance(said, Raised) else server.run(Request(1, 20, 0))
    # From a step on, TorchRL copies the entry in its method of the environment.
    assert said.where == ("environment Unshared" if at else "frames")
    assert said.cause == "TypeError: cannot pickle '_thread.lock' object"


def test_an_error_while_frames_are_counted_is_not_blamed_on_the_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(*_: Any) -> None:
        raise ArithmeticError("no such frame")

    monkeypatch.setattr(EpisodeCounter, "ended", ended)
    said = told(envs.make_counting, envs.make_policy(), AUTO)
    assert (said.where, said.cause) == ("frames", "ArithmeticError: no such frame")


class Imagines(nn.Module):
    """A policy that steps an environment of its own, as planners do."""

    def __init__(self) -> None:
        super().__init__()
        self.world = [envs.make_counting(misbehaves="raise", at=3)]

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        self.world[0].step(TensorDict({"action": torch.zeros(2)}))
        return torch.zeros(*observation.shape[:-1], 2)


@pytest.mark.parametrize("rollout", [AUTO, TORCHRL])
@pytest.mark.parametrize("make", [envs.make_counting, lambda: one("")], ids=["own", "Gymnasium"])
def test_an_environment_that_the_policy_steps_is_the_policys(make: Any, rollout: RolloutLoop) -> None:
    policy = TensorDictModule(Imagines(), in_keys=["observation"], out_keys=["action"])
    said = told(make, policy, rollout)
    assert (said.where, said.cause, said.by_environment) == ("policy", "ValueError: the game is broken", False)


@pytest.mark.parametrize("rollout", [AUTO, TORCHRL])
@pytest.mark.parametrize("make", [envs.make_counting, lambda: one(""), lambda: vector("")])
def test_a_policy_that_raises_is_named(make: Any, rollout: RolloutLoop) -> None:
    server = CollectorServer(C0, CollectorConfig(make, envs.make_broken_policy(), 40, rollout=rollout))
    said: Any = server.build(0, seed_environment=False)
    said = said if isinstance(said, Raised) else server.run(Request(1, 40, 0))
    assert (said.where, said.cause) == ("policy", "ZeroDivisionError: the policy is broken")


@dataclass(frozen=True)
class Frozen(Exception):
    """An error whose attributes cannot be set."""

    code: int


@pytest.mark.parametrize("error", [Frozen(3), ValueError("no such game"), KeyboardInterrupt()])
def test_the_innermost_note_of_any_error_holds(error: BaseException) -> None:
    assert origin_of(error) is Origin.POLICY
    mark(error, Origin.ENVIRONMENT)
    mark(error, Origin.FRAMES)
    assert origin_of(error) is Origin.ENVIRONMENT


def test_a_process_of_a_collector_that_ends_is_blamed_on_nobody_else() -> None:
    make = partial(envs.make_counting, misbehaves="raise", at=9)
    server = CollectorServer(C0, CollectorConfig(make, envs.make_policy(), 6, collector_class=MultiSyncCollector))
    _build(server)
    said = [server.run(Request(number, 6, 0)) for number in range(2)]
    raised = next(one for one in said if isinstance(one, Raised))
    assert (raised.where, raised.by_environment) == ("processes of the collector", False)
    assert raised.cause.startswith("RuntimeError: At least one process failed: worker 0")


def broken(*_: Any) -> None:
    raise ValueError("the hook is broken")


class BrokenTransform(Transform):
    """A transform that raises, used as a postproc."""

    def forward(self, _batch: TensorDictBase | None = None) -> TensorDictBase:
        raise ValueError("the hook is broken")


def steps_an_environment(*_: Any) -> None:
    one("step").rollout(8)


HOOKS = [
    pytest.param(broken, "ValueError: the hook is broken", id="function"),
    pytest.param(BrokenTransform(), "ValueError: the hook is broken", id="transform"),
    pytest.param(steps_an_environment, "ValueError: the game is broken", id="steps an environment"),
    pytest.param(partial(print, sep=1), "TypeError: sep must be None or a string, not int", id="written in C"),
]


@pytest.mark.parametrize("rollout", [AUTO, TORCHRL])
@pytest.mark.parametrize("option", ["pre_collect_hook", "post_collect_hook", "postproc"])
@pytest.mark.parametrize(("hook", "cause"), HOOKS)
def test_a_hook_that_raises_is_named(hook: Any, cause: str, option: str, rollout: RolloutLoop) -> None:
    options = {option: hook}
    server = CollectorServer(
        C0, CollectorConfig(lambda: one(""), envs.make_policy(), 20, rollout=rollout, options=options)
    )
    _build(server)
    said = server.run(Request(1, 20, 0))
    assert isinstance(said, Raised), said
    assert (said.where, said.cause, said.by_environment) == (option, cause, False)


@pytest.mark.parametrize("kind", [MultiSyncCollector, MultiAsyncCollector])
def test_a_postproc_of_a_collector_of_processes_is_named(kind: type[BaseCollector]) -> None:
    config = CollectorConfig(
        envs.make_counting,
        *(envs.make_policy(), 6),
        collector_class=kind,
        options={"postproc": broken},
    )
    runner = build(config, incarnation=1)
    try:
        with pytest.raises(ValueError, match="the hook is broken") as raised:
            runner.run(Request(1, 6, 0))
    finally:
        runner.collector.shutdown()
    assert origin_of(raised.value) is Origin.POSTPROC
