"""Batches of tensors that do what few do give TorchRL's frames, by whichever loop then steps."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from tests import tensor_envs
from tests.unit.collectorfleet.actor.rollout.cases import bounded_policy
from tests.unit.collectorfleet.actor.rollout.recorded_graphs import RECORDED
from tests.unit.collectorfleet.actor.rollout.sides import Asked, assert_equal, sides
from torchrl.data import Binary, Composite, Unbounded
from torchrl.envs import (
    EnvBase,
)

from collectorfleet.actor.config import RolloutLoop
from collectorfleet.actor.rollout.device_loop import CHANGES


class Truncating(tensor_envs.MaskedWalks):
    """Its spec does not name ``truncated``, which it returns."""

    def __init__(self, count: int) -> None:
        super().__init__(count, ("terminated",))
        self._given = ("terminated", "truncated")


class Secretive(tensor_envs.MaskedWalks):
    """Has a state that is no observation, and returns another one than it was given."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.state_spec = Composite(secret=Unbounded((count, 1)), shape=self.batch_size)

    def _reset(self, tensordict: Any = None, **options: Any) -> Any:
        return super()._reset(tensordict, **options).set("secret", torch.zeros(*self.batch_size, 1))

    def _step(self, tensordict: Any) -> Any:
        found = super()._step(tensordict)
        found["reward"] = found["reward"] + tensordict["secret"]
        return found.set("secret", tensordict["secret"] + 1)


class Remembering(tensor_envs.MaskedWalks):
    """Pays the difference to the action before, which it keeps by reference."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self._last: Any = None

    def _step(self, tensordict: Any) -> Any:
        found, action = super()._step(tensordict), tensordict["action"]
        if self._last is not None:
            found["reward"] = (action - self._last).sum(-1, keepdim=True)
        self._last = action
        return found


class Choosy(tensor_envs.MaskedWalks):
    """Draws random actions in its own way."""

    def rand_action(self, tensordict: Any = None) -> Any:
        tensordict["action"] = 0.1 * tensordict["observation"][:, :2]
        return tensordict


class Columns(tensor_envs.MaskedWalks):
    """Has ends of two columns."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        over = {key: Binary(shape=(count, 2), dtype=torch.bool) for key in ("done", "terminated", "truncated")}
        self.full_done_spec = Composite(over, shape=self.batch_size)

    def _reached(self, *given: torch.Tensor) -> Any:
        return {key: one if key == "reward" else one.expand(-1, 2) for key, one in super()._reached(*given).items()}

    def _reset(self, tensordict: Any = None, **options: Any) -> Any:
        mask = None if tensordict is None else tensordict["_reset"].any(-1)
        return super()._reset(None if mask is None else tensordict.empty().set("_reset", mask), **options)


class Hooked(tensor_envs.SelfResettingWalks):
    """Changes what it shows after it has reset itself."""

    def _reset_on_native_autoreset(self, _: Any, after: Any) -> Any:
        return after.set("height", after["height"] + 5)


class Inferring(tensor_envs.Walks):
    """Makes its observations in inference mode."""

    def _observed(self) -> Any:
        with torch.inference_mode():
            return super()._observed()


def assigned(count: int) -> EnvBase:
    env = tensor_envs.MaskedWalks(count)
    env.step = lambda td: EnvBase.step(env, td).set(("next", "reward"), torch.zeros(count, 1))
    return env


@pytest.mark.parametrize("draws", [False, True], ids=["computes", "draws"])
@pytest.mark.parametrize("options", [{}, {"device": "cpu"}, RECORDED], ids=["plain", "device", "recorded"])
@pytest.mark.parametrize(
    "make",
    [Truncating, Secretive, Remembering, Choosy, Columns, Hooked, Inferring, assigned],
    ids=lambda one: one.__name__,
)
@pytest.mark.usefixtures("graphs")
def test_unusual_environments_give_torchrls_frames(make: Any, options: dict[str, Any], draws: bool) -> None:
    theirs, ours = sides(partial(make, 4), partial(bounded_policy, draws=draws), 24, loop=RolloutLoop.AUTO, **options)
    if options is RECORDED and make is Remembering:
        with pytest.raises(ValueError, match=r"Remembering\._last is assigned in each step"):
            ours.run(Asked(12))
        return
    for asked in (Asked(12), Asked(9, cut_after=4), Asked(6, random=True), Asked(12)):
        assert_equal(theirs.run(asked), ours.run(asked))


class Changing(tensor_envs.MaskedWalks):
    """Changes what it is given."""

    def __init__(self, count: int, how: str) -> None:
        super().__init__(count)
        self._how = how

    def _step(self, tensordict: Any) -> Any:
        if self._how == "action":
            tensordict["action"] = tensordict["action"].clamp(-0.1, 0.1)
        elif self._how == "calls":
            tensordict["calls"] = tensordict["calls"] + 100
        elif self._how == "memory":
            tensordict["memory"] = tensordict.get("memory", torch.zeros(*self.batch_size, 1)) + 1
        else:
            tensordict["observation"].clamp_(-0.5, 0.5)
        found = super()._step(tensordict)
        if "memory" in tensordict:
            found["reward"] = tensordict["memory"].clone()
        return found


@pytest.mark.parametrize("options", [{}, {"device": "cpu"}, RECORDED], ids=["plain", "device", "recorded"])
@pytest.mark.parametrize("how", ["action", "calls", "memory", "observation"])
@pytest.mark.usefixtures("graphs")
def test_torchrls_loop_takes_over_from_an_environment_that_changes_what_it_is_given(
    how: str, options: dict[str, Any]
) -> None:
    make = partial(Changing, 4, how)
    theirs, ours = sides(make, partial(bounded_policy, draws=True), 24, loop=RolloutLoop.AUTO, **options)
    for asked in (Asked(8), Asked(8), Asked(12, random=True), Asked(8)):
        assert_equal(theirs.run(asked), ours.run(asked))
    assert ours.runner.loop == f"TorchRL: {CHANGES}"
