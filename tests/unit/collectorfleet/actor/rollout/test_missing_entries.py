"""An environment that leaves out an entry of its spec in some steps is named, and no frame repeats another step."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from tensordict import TensorDictBase
from tests import envs, tensor_envs
from tests.unit.collectorfleet.actor.rollout.cases import bounded_policy
from tests.unit.collectorfleet.actor.rollout.sides import Asked, Side, sides
from torchrl.data import Composite, Unbounded
from torchrl.envs import EnvBase

from collectorfleet.actor.config import RolloutLoop
from collectorfleet.actor.origin import Origin, origin_of

Has = Callable[[int], bool]
STEPS = 12


class Leaving(envs.Counting):
    """Has an entry ``extra``, which it returns in step ``n`` of its life if ``has(n)``; a reset has the next number."""

    def __init__(self, has: Has) -> None:
        super().__init__(length=5)
        self._has = has
        self.observation_spec = Composite(observation=Unbounded(shape=(3,)), extra=Unbounded(shape=(1,)))
        self._calls = -1

    def _reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        return self._with(super()._reset(tensordict, **kwargs))

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        return self._with(super()._step(tensordict))

    def _with(self, found: TensorDictBase) -> TensorDictBase:
        self._calls += 1
        return found.set("extra", torch.full((1,), float(self._calls))) if self._has(self._calls) else found


class LeavingTogether(tensor_envs.MaskedWalks):
    """The same with four environments."""

    def __init__(self, has: Has) -> None:
        super().__init__(4)
        self._has = has
        self.observation_spec["extra"] = Unbounded(shape=(4, 1))
        self._made = -1

    def _reset(self, tensordict: Any = None, **options: Any) -> Any:
        return self._with(super()._reset(tensordict, **options))

    def _step(self, tensordict: Any) -> Any:
        return self._with(super()._step(tensordict))

    def _with(self, found: Any) -> Any:
        self._made += 1
        return found.set("extra", torch.full((4, 1), float(self._made))) if self._has(self._made) else found


LEFT_OUT: dict[str, Has] = {
    "by the first reset": lambda count: count > 2,  # TorchRL resets more than once before the first rollout
    "by some steps": lambda count: count % 4 != 3,
    "from some time on": lambda count: count < STEPS + 8,
}


def _run(side: Side, rollouts: int) -> None:
    for _ in range(rollouts):
        side.run(Asked(STEPS))


@pytest.mark.parametrize("left_out", list(LEFT_OUT))
@pytest.mark.parametrize("make", [Leaving, LeavingTogether], ids=["one", "tensors"])
def test_an_entry_that_only_some_steps_have_is_named(make: Callable[[Has], EnvBase], left_out: str) -> None:
    count = 4 if make is LeavingTogether else 1
    policy = partial(bounded_policy, "observation", 3, draws=False)
    _, ours = sides(partial(make, LEFT_OUT[left_out]), policy, STEPS * count, loop=RolloutLoop.AUTO)
    assert ours.runner.loop.startswith("Fast, ")
    with pytest.raises(ValueError, match=r"extra is missing in .*; return each entry of the spec") as found:
        _run(ours, rollouts=4)
    assert origin_of(found.value) is Origin.ENVIRONMENT


@pytest.mark.parametrize("make", [Leaving, LeavingTogether], ids=["one", "tensors"])
def test_an_entry_that_no_step_has_is_torchrls_zero(make: Callable[[Has], EnvBase]) -> None:
    count = 4 if make is LeavingTogether else 1
    policy = partial(bounded_policy, "observation", 3, draws=False)
    theirs, ours = sides(partial(make, lambda _: False), policy, STEPS * count, loop=RolloutLoop.AUTO)
    for _ in range(3):
        left, right = theirs.run(Asked(STEPS)).batch, ours.run(Asked(STEPS)).batch
        assert left is not None
        assert right is not None
        assert torch.equal(left["next", "extra"], right["next", "extra"])
